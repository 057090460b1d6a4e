// Command streambot is a bot that answers with a language model, and shows the answer while the model writes it. The model is behind an API of
// chat completions with server-sent events, as many servers have it. With -fake, the bot starts such a server itself, which repeats what it is told.
//
//	streambot -url http://127.0.0.1:7070 -handle helper -password SECRET -fake
package main

import (
	"context"
	"errors"
	"flag"
	"log"
	"os"
	"os/signal"
	"time"

	rialto "github.com/rialto-im/rialto/sdk/go"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// endWithin bounds how long the end of an answer is tried.
const endWithin = time.Minute

func main() {
	url := flag.String("url", "http://127.0.0.1:7070", "address of the server")
	handle := flag.String("handle", "", "handle of the bot's user")
	password := flag.String("password", "", "password of that user")
	model := flag.String("model", "http://127.0.0.1:8080/v1/chat/completions", "address of the language model")
	key := flag.String("key", os.Getenv("MODEL_API_KEY"), "key for the language model")
	fake := flag.Bool("fake", false, "answer with a model that repeats what it is told")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if *fake {
		address, err := startFake(ctx)
		if err != nil {
			log.Fatal(err)
		}
		*model = address
	}
	if err := run(ctx, *url, *handle, *password, llm{address: *model, key: *key}); err != nil && ctx.Err() == nil {
		log.Fatal(err)
	}
}

// run logs in, and answers each message to the bot, until ctx ends.
func run(ctx context.Context, url, handle, password string, model llm) error {
	questions := make(chan *chatv1.Message, 100)
	client, err := rialto.New(rialto.Config{URL: url, Name: "streambot", Handler: func(e rialto.Event) {
		if e.Message == nil || !e.Live || e.Message.Content.GetText() == "" {
			return
		}
		select {
		case questions <- e.Message:
		default: // more questions at once than the bot answers
		}
	}})
	if err != nil {
		return err
	}
	if err := client.Login(ctx, handle, password); err != nil {
		return err
	}
	go func() {
		for {
			select {
			case q := <-questions:
				if q.Sender != client.User() {
					go answer(ctx, client, model, q) // ends with the answer, at most 100 at a time by the server's limit
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return client.Run(ctx)
}

// answer writes the model's answer to a question.
func answer(ctx context.Context, client *rialto.Client, model llm, q *chatv1.Message) {
	m, err := client.StartStreamed(ctx, q.Conversation, rialto.StreamedOptions{ReplyTo: q.Seq})
	if err != nil {
		log.Printf("a question was not answered: %v", err)
		return
	}
	m.SetState(chatv1.WritingState_WRITING_STATE_THINKING, "")
	asking, cancel := context.WithCancel(ctx)
	go func() { // ends with the message
		<-m.Ended() // a reader has stopped it: the model need not go on
		cancel()
	}()
	err = model.complete(asking, q.Content.GetText(), func(delta string) error {
		_, err := m.WriteString(delta)
		return err
	})
	ending, done := context.WithTimeout(context.WithoutCancel(ctx), endWithin)
	defer done()
	if err == nil {
		err = m.End(ending)
	} else if asking.Err() == nil || ctx.Err() != nil {
		err = errors.Join(err, m.Fail(ending))
	}
	if err != nil {
		log.Printf("an answer was broken off: %v", err)
	}
}
