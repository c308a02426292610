// A bot with memory, without a client library: node bot.mjs URL USER CONVERSATION "what is said"
const [url, user, conversation, said] = process.argv.slice(2);
if (!said) {
  console.error('usage: node bot.mjs http://127.0.0.1:8371 USER CONVERSATION "what is said"');
  process.exit(2);
}

async function ask(path, parameters, options = {}) {
  const answer = await fetch(`${url}${path}?${new URLSearchParams(parameters)}`, options);
  if (answer.status === 404) return null; // nothing is known of this conversation yet
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${(await answer.json()).detail}`);
  return answer.json();
}

async function remember(role, content) {
  const message = { conversation_id: conversation, role, content };
  await ask("/v1/messages", {}, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ user_id: user, messages: [message] }),
  });
}

const context = await ask("/v1/context", { user_id: user, conversation_id: conversation });
const found = await ask("/v1/search", { q: said, user_id: user, limit: 5 });
const known = found.results.map((each) => `- ${each.text}`).join("\n");
const prompt = [context?.prompt, known && `What was said about it:\n${known}`].filter(Boolean).join("\n\n");

await remember("user", said);
const reply = `(your model answers here, with this in front)\n${prompt}`;
await remember("assistant", "I have made a note of it.");
console.log(reply);
