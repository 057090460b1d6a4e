package rialto_test

import (
	"context"
	"fmt"
	"log"

	rialto "github.com/rialto-im/rialto/sdk/go"
)

// A bot that answers every text, also those that came while it was away.
func Example() {
	ctx := context.Background()
	incoming := make(chan rialto.Event, 100)
	c, err := rialto.New(rialto.Config{
		URL:     "http://127.0.0.1:7070",
		Store:   rialto.NewFileStore("echo-bot.json"),
		Handler: func(e rialto.Event) { incoming <- e },
	})
	if err != nil {
		log.Fatal(err)
	}
	if c.User() == 0 {
		if err := c.Login(ctx, "echo", "a good password"); err != nil {
			log.Fatal(err)
		}
	}
	go func() {
		for e := range incoming {
			m := e.Message
			if m == nil || m.Sender == c.User() || m.Content.GetText() == "" {
				continue
			}
			if _, err := c.SendText(ctx, m.Conversation, "you said: "+m.Content.GetText()); err != nil {
				fmt.Println("not sent:", err)
			}
		}
	}()
	if err := c.Run(ctx); err != nil {
		log.Fatal(err)
	}
}
