package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/rialto-im/rialto/bridges/bridge"
)

// deliverTimeout is how long a message that is being sent may take after the bridge was stopped.
const deliverTimeout = 30 * time.Second

// Deliver sends a message to a channel, as lines that say who wrote it. Its id is made of those of Rialto, as IRC has none.
func (x *client) Deliver(ctx context.Context, channel string, m bridge.Outgoing) (string, error) {
	id := fmt.Sprint(m.Conversation, "-", m.Seq)
	if x.last.is(id) { // its report did not arrive
		return id, nil
	}
	lines := linesOf(m.Name, m.Text, lineSize(x.config.nick, channel))
	switch {
	case len(lines) == 0:
		return "", bridge.NewRefusal("not_carried", "IRC has no form for this text.")
	case len(lines) > maxLines:
		return "", bridge.NewRefusal("too_long", fmt.Sprintf("IRC carries at most %d lines of a message.", maxLines))
	}
	sending, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(deliverTimeout, cancel) })()
	if err := ctx.Err(); err != nil {
		return "", err
	}
	commands := make([][]string, len(lines))
	for n, line := range lines {
		commands[n] = []string{"PRIVMSG", channel, line}
	}
	err := x.ask(sending, channel, commands...)
	var refusal *bridge.Refusal
	if errors.As(err, &refusal) {
		if refusal.Reason == notOnChannel {
			x.left(x.current(), channel)
			return "", errNotInChannel
		}
		refusal.OfUser = true
	}
	if err != nil {
		return "", err
	}
	if err := x.last.set(id); err != nil {
		x.logger.Warn("a message may be sent to IRC again, if the bridge is stopped now", "id", id, "error", err)
	}
	return id, nil
}

// lastDelivery is the message that was sent last, in a file. Messages are sent one after the other, so a bridge that has died before Rialto had the report knows of the one that it must not send again.
type lastDelivery struct {
	path string

	mu sync.Mutex // guards id
	id string
}

func openLastDelivery(dir string) (*lastDelivery, error) {
	l := &lastDelivery{path: filepath.Join(dir, "last.json")}
	raw, err := os.ReadFile(l.path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, os.MkdirAll(dir, 0o700)
	}
	if err == nil {
		if err = json.Unmarshal(raw, &l.id); err != nil {
			err = fmt.Errorf("%s is not a file of the bridge: delete it, after which the last message may be sent to IRC again: %w", l.path, err)
		}
	}
	return l, err
}

func (l *lastDelivery) is(id string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.id == id
}

// set writes down what was sent.
func (l *lastDelivery) set(id string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.id = id
	raw, err := json.Marshal(id)
	if err != nil {
		return err
	}
	return bridge.WriteFile(l.path, raw)
}
