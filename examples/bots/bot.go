// A bot with memory, without a client library: go run bot.go URL USER CONVERSATION "what is said"
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"
)

var client = http.Client{Timeout: 30 * time.Second}

func ask(method, address string, body, answer any) error {
	var sent bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&sent).Encode(body); err != nil {
			return err
		}
	}
	request, err := http.NewRequest(method, address, &sent)
	if err != nil {
		return err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotFound {
		return nil // nothing is known of this conversation yet
	}
	if response.StatusCode >= 300 {
		return fmt.Errorf("%s: %s", address, response.Status)
	}
	return json.NewDecoder(response.Body).Decode(answer)
}

func run(base, user, conversation, said string) error {
	var context struct{ Prompt string }
	where := url.Values{"user_id": {user}, "conversation_id": {conversation}}
	if err := ask("GET", base+"/v1/context?"+where.Encode(), nil, &context); err != nil {
		return err
	}
	var found struct{ Results []struct{ Text string } }
	query := url.Values{"q": {said}, "user_id": {user}, "limit": {"5"}}
	if err := ask("GET", base+"/v1/search?"+query.Encode(), nil, &found); err != nil {
		return err
	}
	for _, turn := range [][2]string{{"user", said}, {"assistant", "I have made a note of it."}} {
		message := map[string]string{"conversation_id": conversation, "role": turn[0], "content": turn[1]}
		sent := map[string]any{"user_id": user, "messages": []any{message}}
		var taken any
		if err := ask("POST", base+"/v1/messages", sent, &taken); err != nil {
			return err
		}
	}
	fmt.Printf("(your model answers here, with this in front)\n%s\n", context.Prompt)
	for _, each := range found.Results {
		fmt.Println("-", each.Text)
	}
	return nil
}

func main() {
	if len(os.Args) != 5 {
		fmt.Fprintln(os.Stderr, `usage: go run bot.go http://127.0.0.1:8371 USER CONVERSATION "what is said"`)
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Args[3], os.Args[4]); err != nil {
		fmt.Fprintln(os.Stderr, "bot:", err)
		os.Exit(1)
	}
}
