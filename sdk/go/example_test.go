package rialto_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// exampleServer simulates a deployment: it stores messages and returns them as events.
func exampleServer() (url string, stop func()) {
	s := &server{script: func(_ int, c *conn) {
		for sends := c.sends(); sends != nil; sends = c.sends() {
			for _, m := range sends {
				r := &gatewayv1.Receipt{Conversation: m.Conversation, ClientSeq: m.ClientSeq, Seq: m.ClientSeq}
				if _, isText := m.Content.Kind.(*chatv1.Content_Text); isText && m.Content.GetText() == "" {
					r.Error = &gatewayv1.Error{Code: "invalid_argument", Reason: "empty_text", Message: "a text has at least one character"}
					c.write(&gatewayv1.ServerFrame{Receipts: []*gatewayv1.Receipt{r}})
					continue
				}
				e := event(m.ClientSeq, m.ClientSeq-1)
				e.GetMessage().Content, e.GetMessage().Sender = m.Content, 1
				c.write(&gatewayv1.ServerFrame{Receipts: []*gatewayv1.Receipt{r}, Events: []*chatv1.Event{e}})
			}
		}
	}}
	stop = s.open()
	return s.url, stop
}

// running runs a client in the background, as a program does.
func running(c *rialto.Client) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- c.Run(ctx) }()
	return func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			log.Print(err) // as rialto.ErrSignedOut
		}
	}
}

// A bot that answers every text, also those that came while it was away. It runs until it is signed out.
func Example() {
	ctx := context.Background()
	var c *rialto.Client
	answer := func(m *chatv1.Message) {
		if m.Sender == c.User() || m.Content.GetText() == "" {
			return
		}
		if _, err := c.SendText(ctx, m.Conversation, "you said: "+m.Content.GetText()); err != nil {
			log.Print("not sent: ", err)
		}
	}
	c, err := rialto.New(rialto.Config{
		URL:   "http://127.0.0.1:7070",
		Store: rialto.NewFileStore("echo-bot.json"),
		Handler: func(e rialto.Event) {
			if e.Message != nil {
				go answer(e.Message) // the handler must not wait for SendText
			}
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	if !c.SignedIn() {
		if err := c.Login(ctx, "echo", "a good password"); err != nil {
			log.Fatal(err)
		}
	}
	if err := c.Run(ctx); err != nil {
		log.Fatal(err)
	}
}

// A message is stored when SendText returns, and is delivered as an event, which a program shows.
func ExampleClient_SendText() {
	url, stopServer := exampleServer()
	defer stopServer()
	shown := make(chan string)
	c, err := rialto.New(rialto.Config{URL: url, Handler: func(e rialto.Event) {
		if e.Message != nil {
			shown <- e.Message.Content.GetText()
		}
	}})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	if err := c.Login(ctx, "alice", "a good password"); err != nil {
		log.Fatal(err)
	}
	defer running(c)()
	receipt, err := c.SendText(ctx, 7, "hello")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("stored at", receipt.Seq)
	fmt.Println(<-shown)
	// Output:
	// stored at 1
	// hello
}

// A program that keeps messages applies updates to its copies. It does not show them as messages.
func ExampleClient_ApplyUpdate() {
	url, stopServer := exampleServer()
	defer stopServer()
	var c *rialto.Client
	messages := map[uint64]*chatv1.Message{} // of one conversation, by seq
	shown := make(chan string)
	c, err := rialto.New(rialto.Config{URL: url, Handler: func(e rialto.Event) {
		if e.Message == nil {
			return
		}
		seq := rialto.UpdateTarget(e.Message)
		if seq == 0 {
			seq = e.Message.Seq
			messages[seq] = e.Message
		} else if messages[seq] != nil {
			messages[seq] = c.ApplyUpdate(messages[seq], e.Message)
		}
		shown <- fmt.Sprintf("message %d: %q", seq, messages[seq].GetContent().GetText())
	}})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	if err := c.Login(ctx, "alice", "a good password"); err != nil {
		log.Fatal(err)
	}
	defer running(c)()
	receipt, err := c.SendText(ctx, 7, "helo")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(<-shown)
	if _, err := c.Edit(ctx, 7, receipt.Seq, "hello"); err != nil {
		log.Fatal(err)
	}
	fmt.Println(<-shown)
	if _, err := c.Recall(ctx, 7, receipt.Seq); err != nil {
		log.Fatal(err)
	}
	fmt.Println(<-shown)
	// Output:
	// message 1: "helo"
	// message 1: "hello"
	// message 1: ""
}

// Without a connection, messages are kept in order, and go out when there is one.
func ExampleClient_Queue() {
	url, stopServer := exampleServer()
	defer stopServer()
	c, err := rialto.New(rialto.Config{URL: url})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	if err := c.Login(ctx, "alice", "a good password"); err != nil {
		log.Fatal(err)
	}
	first := c.Queue(7, &chatv1.Content{Kind: &chatv1.Content_Text{Text: "one"}})
	second := c.Queue(7, &chatv1.Content{Kind: &chatv1.Content_Text{Text: "two"}})
	defer running(c)()
	for _, wait := range []func(context.Context) (*gatewayv1.Receipt, error){first, second} {
		receipt, err := wait(ctx)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("stored at", receipt.Seq)
	}
	// Output:
	// stored at 1
	// stored at 2
}

// Programs act on the reason of an error, which stays the same; its message is for people.
func ExampleReason() {
	url, stopServer := exampleServer()
	defer stopServer()
	c, err := rialto.New(rialto.Config{URL: url})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	if err := c.Login(ctx, "alice", "a good password"); err != nil {
		log.Fatal(err)
	}
	defer running(c)()
	_, err = c.SendText(ctx, 7, "")
	fmt.Println(rialto.Reason(err))
	// Output: empty_text
}

// With a FileStore a restarted program continues as the same device, at its position in the user's stream.
func ExampleNewFileStore() {
	dir, err := os.MkdirTemp("", "rialto-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	url, stopServer := exampleServer()
	defer stopServer()
	ctx := context.Background()
	for range 2 {
		c, err := rialto.New(rialto.Config{URL: url, Store: rialto.NewFileStore(filepath.Join(dir, "bot.json"))})
		if err != nil {
			log.Fatal(err)
		}
		if !c.SignedIn() {
			fmt.Println("logging in")
			if err := c.Login(ctx, "bot", "a good password"); err != nil {
				log.Fatal(err)
			}
		}
		fmt.Println("user", c.User())
	}
	// Output:
	// logging in
	// user 1
	// user 1
}
