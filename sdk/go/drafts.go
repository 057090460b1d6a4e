package rialto

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"connectrpc.com/connect"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"github.com/rialto-im/rialto/sdk/go/reconnect"
)

const (
	// MostDrafts is how many drafts may wait to be told to the server at once.
	MostDrafts = 1000
	// mostDraft is the server's limit of a draft, in characters.
	mostDraft = 100_000
)

// ErrTooManyDrafts: MostDrafts drafts wait already.
var ErrTooManyDrafts = errors.New("rialto: too many drafts wait to be told to the server")

// SetDraft makes a text this user's draft in a conversation, on all devices; an empty text clears it. A draft has at most 100,000 characters. When SetDraft
// returns, the draft is in the store; Run tells the server as soon as it can be reached, and of several drafts of a conversation the last one. Call it a moment
// after the last key, not for each one. A draft that the server refuses is dropped. It may be called from Config.Handler, and before Run.
func (c *Client) SetDraft(conversation uint64, text string) error {
	if utf8.RuneCountInString(text) > mostDraft || !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return &SendError{connect.CodeInvalidArgument.String(), "bad_draft", fmt.Sprintf("a draft has at most %d characters of valid UTF-8, without U+0000", mostDraft)}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state.Access == "" {
		return ErrSignedOut
	}
	was, waits := c.state.Drafts[conversation]
	if waits && was == text {
		return nil
	}
	if !waits && len(c.state.Drafts) >= MostDrafts {
		return ErrTooManyDrafts
	}
	if c.state.Drafts == nil {
		c.state.Drafts = map[uint64]string{}
	}
	c.state.Drafts[conversation] = text
	if err := c.save(); err != nil {
		if delete(c.state.Drafts, conversation); waits {
			c.state.Drafts[conversation] = was
		}
		return err
	}
	c.signalDrafts()
	return nil
}

// Draft returns this user's draft in a conversation, whose state the server gave: the text of SetDraft while the server has not confirmed it, else the one of
// the state, which may have been typed on another device. It is empty if there is none.
func (c *Client) Draft(state *chatv1.ConversationState) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if text, waits := c.state.Drafts[state.GetConversation()]; waits {
		return text
	}
	return state.GetDraft()
}

// FlushDrafts tells the server all drafts that wait, now. It returns an error if the server cannot be reached; what waits then is still kept, and Run tells it
// later.
func (c *Client) FlushDrafts(ctx context.Context) error {
	c.tellingDrafts.Lock() // an older text must not overtake a newer one
	defer c.tellingDrafts.Unlock()
	c.mu.Lock()
	waiting := slices.Sorted(maps.Keys(c.state.Drafts))
	c.mu.Unlock()
	var failed error
	for _, conversation := range waiting {
		if err := c.tellDraft(ctx, conversation); err != nil {
			if failed = err; !connect.IsWireError(err) {
				break // else it may be this draft only
			}
		}
	}
	return failed
}

// tellDraft tells the server a draft. A refusal ends the wait as well: a retry would not change it.
func (c *Client) tellDraft(ctx context.Context, conversation uint64) error {
	c.mu.Lock()
	text, waits := c.state.Drafts[conversation]
	c.mu.Unlock()
	if !waits {
		return nil
	}
	_, err := unary(ctx, c.chat.Configure, &chatv1.ConfigureRequest{Conversation: conversation, Draft: &text})
	if err != nil && (!isAnswer(err) || detail(err).GetRetryMs() > 0) {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if now, waits := c.state.Drafts[conversation]; !waits || now != text { // it was changed meanwhile
		return nil
	}
	delete(c.state.Drafts, conversation)
	return c.save()
}

// runDrafts tells the server drafts until ctx ends. While it cannot be reached, it tries again after waits that grow up to Config.MaxWait.
func (c *Client) runDrafts(ctx context.Context) {
	for failures := 0; ; {
		c.mu.Lock()
		wake := c.draftsWake
		c.mu.Unlock()
		var again <-chan time.Time
		err := c.FlushDrafts(ctx)
		if err != nil && ctx.Err() == nil {
			c.config.Logger.Info("telling drafts failed", "error", err)
			failures++
			again = time.After(reconnect.Wait(failures, time.Duration(detail(err).GetRetryMs())*time.Millisecond, c.config.MaxWait, rand.Int64N))
		} else {
			failures = 0
		}
		select {
		case <-wake:
		case <-again:
		case <-ctx.Done():
			return
		}
	}
}

// signalDrafts wakes up runDrafts. The caller holds mu.
func (c *Client) signalDrafts() {
	close(c.draftsWake)
	c.draftsWake = make(chan struct{})
}
