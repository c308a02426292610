"""What people say to an assistant, made up: so that it is learned which plain questions need no asking back."""

from __future__ import annotations

from typing import Any

_CLEAR = """
What is the capital of France?
What is the capital of Australia?
What is the capital of Peru?
What is the population of Canada?
What is the currency of Japan?
What is the official language of Brazil?
What is the longest river in Europe?
What is the chemical symbol of gold?
What is the square root of 144?
How do I make pancakes?
How do I boil an egg?
How do I tie a tie?
How do I reset my router?
How do I get red wine out of a carpet?
How do I write a cover letter?
How can I sleep better?
How can I learn Italian quickly?
How many days are there in a leap year?
How many grams are in a pound?
How far is the moon from the earth?
How long does it take to fly from Berlin to New York?
How long should I cook pasta?
How tall is the Eiffel Tower?
How does a refrigerator work?
How does photosynthesis work?
How are you?
How are you doing today?
What time is it in Tokyo?
What should I cook tonight?
What should I wear to a job interview?
What is a good gift for my brother?
What is the tallest mountain in Africa?
What is the boiling point of water?
What is 17 times 24?
What is 7 times 8?
What is 6 times 14?
What is 15 plus 27?
What is 100 divided by 4?
What is 31 minus 12?
What is the difference between a virus and a bacterium?
What is the best way to learn to swim?
What is the weather like today?
What is a haiku?
What is your name?
What can you do?
What are the best museums in Amsterdam?
What are the symptoms of a cold?
What does "ubiquitous" mean?
What did I say about my sister?
What did we talk about last week?
What do you know about me?
What is my dog called?
What was the name of that restaurant I liked in Rome?
Where do I live?
Where did I put my notes about the garden?
Where can I buy stamps in Vienna?
When is my birthday?
When was the Berlin Wall built?
When did the Second World War end?
When should I plant tomatoes?
Who wrote Faust?
Who painted the Mona Lisa?
Who is my dentist?
Who invented the telephone?
Why is the sky blue?
Why do cats purr?
Why did my cake collapse?
Why am I always tired after lunch?
Which planet is closest to the sun?
Which programming language should I learn first?
Which of my friends is vegetarian?
Is it healthy to eat eggs every day?
Is a tomato a fruit?
Is Pluto a planet?
Are whales mammals?
Are there direct trains from Paris to Milan?
Do you remember my birthday?
Do penguins live at the North Pole?
Does my sister like coffee?
Did I tell you about my new job?
Can you recommend a book about Rome?
Can you help me?
Can you explain inflation to a child?
Can dogs eat grapes?
Could you check this sentence for mistakes?
Should I learn the piano or the guitar?
Will I need a visa for Japan?
Tell me a joke.
Tell me about the Roman Empire.
Tell me something interesting about octopuses.
Give me three ideas for dinner
Give me a recipe for lentil soup without onions.
Write a short poem about autumn.
Write an email to my landlord that the heating is broken.
Explain how a refrigerator works.
Explain the rules of chess.
Summarize the French Revolution in two sentences.
Translate "good morning" into Spanish.
Convert 10 miles to kilometres.
Find me a hotel in Lisbon for two nights in May.
Help me plan my week.
Help me write a speech for my mother's sixtieth birthday.
Suggest a name for a grey cat.
Recommend a film for a rainy evening.
Remind me what I wanted to buy.
List the planets.
Plan a three-day trip to Prague for two people.
Make a packing list for a week in Norway in winter.
Describe the taste of saffron.
Compare tea and coffee.
I want to learn to cook, where should I start?
I have a headache, what can I do?
I am bored, any ideas?
I need a vegetarian dish for six people.
I would like to know more about black holes.
I moved to Munich in January.
My favourite colour is green.
Please keep your answers short.
Thanks, that helped!
Thank you!
Hello!
Good morning!
Okay, let's do that.
Yes, please.
No, that's all.
Sounds good.
What do you think of electric cars, and why?
"""

_OPEN = {
    "what": """
I need to find out who will leave
Make it better.
Change the settings.
Fix the problem.
I want to analyse the data
Build me a model
Which one is better?
What is the best one?
Show me the results
Improve the text
How do I install it?
Compare the two
How big should the sample be?
I need a report
Optimize the process
What is the right size?
Pick one for me
How much does it cost?
""",
    "when": """
When is the next election?
Who won the final?
What was the result of the match?
When is the meeting?
Who is the champion?
What was the inflation rate?
""",
    "where": """
What time does the museum open?
When does the bank close?
What is the legal drinking age?
How high is the income tax?
What is the emergency number?
""",
    "whom": """
Book a table
Send the invitation
How much medicine should be taken?
Order the tickets
Is it safe to take two of these?
""",
    "polysemy": """
How old is Michael Jordan?
How do I use Python?
Tell me about Mercury.
How far is Springfield?
When was the Titanic released or sunk?
How do I feed a mouse?
""",
    "co-reference": """
What does she want?
Is he coming too?
When did they say it would arrive?
How much was that one?
What about the other one?
""",
}


def rows() -> list[dict[str, Any]]:
    """Return the sentences as rows of the set."""
    clear = [{"question": line, "require_clarification": 0, "subclass": "everyday"} for line in _lines(_CLEAR)]
    unclear = [
        {"question": line, "require_clarification": 1, "subclass": kind}
        for kind, lines in _OPEN.items()
        for line in _lines(lines)
    ]
    return [{**row, "everyday": True} for row in clear + unclear]


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if line]
