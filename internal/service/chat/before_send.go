package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/platform/webhook"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	"google.golang.org/protobuf/proto"
)

// A webhook may be asked before a message or an edit is stored. Drafts that wait for it are held outside of the mailbox of their conversation, so that others
// go on. Those of one sender's device in one conversation go on in their order, also those for which nobody is asked.

// BeforeSendQuery is the body of a request to the webhook. Its content is a rialto.chat.v1.Content.
type BeforeSendQuery struct {
	Conversation string       `json:"conversation"`
	Sender       webhook.User `json:"sender"`
	webhook.Reviewed
}

const (
	// maxAsked bounds the drafts that wait, and maxAskedBytes their contents.
	maxAsked      = 4096
	maxAskedBytes = 16 << 20
	holdTimeout   = 5 * time.Second // of the database, to put a draft into the queue of moderators
)

// beforeSend has the drafts that wait for the webhook.
type beforeSend struct {
	reviewer *webhook.Reviewer
	asking   drain // the requests in progress

	mu      sync.Mutex // guards the fields below
	waiting map[askKey]*askQueue
	number  int // of drafts in waiting
	bytes   int
}

// askKey is whose order counts.
type askKey struct {
	conversation id.Conversation
	senderDevice
}

// askQueue has the drafts of one device in a conversation, in their order.
type askQueue struct {
	list      []*asked
	releasing bool // a goroutine passes those at the head on
}

// asked is a draft, and what the webhook decided.
type asked struct {
	draft *message.Draft
	bytes int
	done  bool
	err   error // refused
}

// review is what webhook.Reviewer is told of the settings.
func (c Config) review() webhook.ReviewConfig {
	return webhook.ReviewConfig{Config: c.BeforeSend, OnFailure: c.BeforeSendOnFailure, Setting: "chat.before_send", Waiting: "senders", DefaultTimeout: 300 * time.Millisecond,
		NotChecked: "whether this message may be sent is not known now; try again", Refused: "this message is against the rules of this server"}
}

func (c Config) checkBeforeSend() error {
	if err := c.review().Check(); err != nil {
		return err
	}
	if !slices.Contains([]string{"", "hide", "show"}, c.BeforeSendParts) {
		return fmt.Errorf("chat.before_send_parts is hide or show, not %q", c.BeforeSendParts)
	}
	return nil
}

func (s *Service) initBeforeSend() error {
	reviewer, err := webhook.NewReviewer(s.config.review(), webhook.Kind{Kind: outgoing.BeforeSend, Calls: s.deps.Calls}, s.deps.Clock, s.deps.Logger)
	s.beforeSend = &beforeSend{reviewer: reviewer, waiting: map[askKey]*askQueue{}}
	return err
}

// isAsked reports whether the webhook is asked about a content: a message or an edit. It is not asked about recalls, reactions, pins and signals.
func isAsked(content []byte) bool {
	if _, text := message.TextOf(content); text {
		return true
	}
	var c chatv1.Content
	if proto.Unmarshal(content, &c) != nil {
		return false
	}
	switch c.Kind.(type) {
	case *chatv1.Content_Recall, *chatv1.Content_Reaction, *chatv1.Content_Pin, *chatv1.Content_Signal, *chatv1.Content_Thread, *chatv1.Content_BridgeReport, *chatv1.Content_Control:
		return false
	}
	return true
}

// holdForHook holds a draft for which the webhook is asked, or that follows one. It does not block.
func (s *Service) holdForHook(d *message.Draft) bool {
	b := s.beforeSend
	ask := d.Sender != 0 && isAsked(d.Content)
	key := askKey{d.Conversation, senderDevice{d.Sender, d.Device}}
	one := &asked{draft: d, bytes: len(d.Content), done: !ask}
	b.mu.Lock()
	q := b.waiting[key]
	if !ask && q == nil {
		b.mu.Unlock()
		return false
	}
	if b.number >= maxAsked || b.bytes+one.bytes > maxAskedBytes || !b.asking.start() {
		b.mu.Unlock()
		s.rejectRetryable(s.conversation(d.Conversation), d, busy(nil))
		return true
	}
	if q == nil {
		q = &askQueue{}
		b.waiting[key] = q
	}
	q.list = append(q.list, one)
	b.number++
	b.bytes += one.bytes
	b.mu.Unlock()
	go func() { // ends after the timeout of the webhook; Run waits for it
		defer b.asking.end()
		if ask {
			hold, err := s.askBeforeSend(d)
			if err == nil && hold != "" {
				err = s.holdUnlessStored(d, hold)
			}
			b.mu.Lock()
			one.done, one.err = true, err
			b.mu.Unlock()
		}
		s.releaseAsked(key)
	}()
	return true
}

// releaseAsked passes on the drafts at the head of a queue that are decided.
func (s *Service) releaseAsked(key askKey) {
	b := s.beforeSend
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.waiting[key]
	if q == nil || q.releasing {
		return
	}
	q.releasing = true
	for len(q.list) > 0 && q.list[0].done {
		one := q.list[0]
		q.list = q.list[1:]
		b.number--
		b.bytes -= one.bytes
		b.mu.Unlock()
		switch conversation := s.conversation(one.draft.Conversation); {
		case one.err == nil:
			s.submitValid(one.draft)
		case errs.Is(one.err, errs.Unavailable):
			s.rejectRetryable(conversation, one.draft, one.err)
		default:
			s.rejectUnlessStored(conversation, one.draft, one.err)
		}
		b.mu.Lock()
	}
	q.releasing = false
	if len(q.list) == 0 {
		delete(b.waiting, key)
	}
}

// askBeforeSend asks the webhook about a draft. It returns why a moderator is to decide, "" if none is, or why the draft is refused, and replaces its text if the
// webhook wants that.
func (s *Service) askBeforeSend(d *message.Draft) (hold string, err error) {
	var replaced []byte
	replace := func(v *webhook.Verdict) (err error) {
		if v.Text != nil {
			replaced, err = replaceText(d.Content, *v.Text)
		}
		return err
	}
	query := func(ctx context.Context) (any, error) { return s.beforeSendQuery(ctx, d) }
	hold, err = s.beforeSend.reviewer.Review(context.Background(), query, replace, "conversation", d.Conversation, "sender", d.Sender)
	if err != nil || hold != "" {
		return hold, err
	}
	d.Asked = true
	if replaced == nil {
		return "", nil
	}
	d.Content, d.Refers, d.RefersByClientSeq, d.Mentions, d.LinkPreview, d.Uploads = replaced, false, false, false, false, nil
	return "", s.validate(d)
}

func (s *Service) beforeSendQuery(ctx context.Context, d *message.Draft) (*BeforeSendQuery, error) {
	var c chatv1.Content
	if err := proto.Unmarshal(d.Content, &c); err != nil {
		return nil, err
	}
	sender, of, err := webhook.Sources{ExternalIDs: s.deps.ExternalIDs, Files: s.deps.ReviewFiles}.Describe(ctx, d.Sender, &c, d.Uploads)
	return &BeforeSendQuery{d.Conversation.String(), sender, of}, err
}

var errNoText = errors.New("the message has no text or caption to replace, or the new text is not valid")

// replaceText returns a content with another text or caption. Mentions and the link preview of the old text go.
func replaceText(content []byte, text string) ([]byte, error) {
	var c chatv1.Content
	if err := proto.Unmarshal(content, &c); err != nil {
		return nil, err
	}
	to := &c
	if c.GetEdit() != nil {
		to = c.GetEdit().Content
	}
	switch _, isText := to.GetKind().(*chatv1.Content_Text); {
	case isText && validateText([]byte(text)) == nil:
		to.Kind = &chatv1.Content_Text{Text: text}
	case !isText && captionOf(to) != nil && utf8.ValidString(text) && !strings.Contains(text, "\x00"):
		*captionOf(to) = text
	default:
		return nil, errNoText
	}
	to.Mentions, to.LinkPreview = nil, nil
	return proto.MarshalOptions{Deterministic: true}.Marshal(&c)
}
