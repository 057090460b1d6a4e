package push

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/excerpt"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/outgoing"
	"github.com/rialto-im/rialto/internal/platform/job"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
	pushv1 "github.com/rialto-im/rialto/sdk/go/gen/push/v1"
)

const (
	// replacedSeqs are how many messages before a recalled one are read to find one that is pushed in its place.
	replacedSeqs = 50
	// graceDelay is how long a mention waits for a user who counts as connected: for longer than a connection that broke counts.
	graceDelay = 40 * time.Second
	maxPreview = 160 // characters
	// maxBridgedName is for the name of somebody of another system with that of the bridge: less than the shortest title of a provider, so that none cuts the bridge away.
	maxBridgedName = 48
)

// notification is what a device gets. Without a title it is a hint only: the device has to read the message itself.
type notification struct {
	Version      int    `json:"v"`
	User         string `json:"user"` // who gets it: a device may have had several users
	Conversation string `json:"conversation"`
	Seq          string `json:"seq"`
	Badge        uint64 `json:"badge"`
	// Of a thread, the message that it is under.
	Parent string `json:"parent,omitempty"`
	Root   string `json:"root,omitempty"`
	Title  string `json:"title,omitempty"`
	Body   string `json:"body,omitempty"`

	message string // its id, for its trace
}

// result of an attempt.
type result struct {
	kind   pushv1.PushResult
	status int
	detail string
	wait   time.Duration // before the next attempt, if the provider said so
	// refused is set if nothing was sent, because the provider has failed for others: it is no attempt.
	refused *outgoing.Refused
}

const (
	sent    = pushv1.PushResult_PUSH_RESULT_SENT
	retry   = pushv1.PushResult_PUSH_RESULT_RETRY
	failed  = pushv1.PushResult_PUSH_RESULT_FAILED
	gone    = pushv1.PushResult_PUSH_RESULT_GONE
	dropped = pushv1.PushResult_PUSH_RESULT_DROPPED
)

func drop(why string) *result { return &result{kind: dropped, detail: why} }

// deliver sends the newest message of a row, if it is still to be pushed.
func (s *Service) deliver(ctx context.Context, j job.Job[delivery]) error {
	p, row, err := s.load(ctx, j.Args)
	if err != nil || p == nil {
		return err
	}
	if row.seq <= row.sent {
		return s.release(ctx, j.Args, row)
	}
	if wait := p.mayPush(s.nowMs()); wait > 0 {
		return job.Snooze(wait)
	}
	host := p.host()
	if !s.begin(p.owner) {
		return job.Snooze(backoff.Spread(ownDelay, 2*ownDelay))
	}
	var took time.Duration // of the request; 0: there was none
	defer func() { s.end(p.owner, took) }()
	if !s.hosts.TryAcquire(host) {
		return job.Snooze(backoff.Spread(ownDelay, 2*ownDelay))
	}
	defer func() {
		if took == 0 {
			s.hosts.Cancel(host)
		} else {
			s.hosts.Release(host, took >= s.slowAfter)
		}
	}()
	n, seq, done, err := s.compose(ctx, p, j.Args.Conversation, row)
	switch {
	case err != nil:
		done = &result{kind: retry, detail: cause(err)}
	case done != nil && done.kind == retry:
		return job.Snooze(done.wait) // nothing was attempted
	case done == nil:
		if err := s.reached("before-send"); err != nil {
			return err
		}
		began := time.Now()
		done = s.send(ctx, p, n)
		if done.refused == nil {
			took = max(time.Since(began), 1)
			s.trace(n, p, began, done)
		}
		if err := s.reached("after-send"); err != nil {
			return err
		}
	}
	waited := time.Duration(s.nowMs()-row.changedMs) * time.Millisecond
	if done.refused != nil && waited <= maxAge {
		return job.Snooze(done.refused.Delay(waited))
	}
	if done.kind == retry && waited > maxAge || done.kind == retry && done.wait == 0 && j.Failures+1 >= maxAttempts {
		done.kind = failed
	}
	return s.finish(ctx, p, j.Args, row, seq, done)
}

// sending are a user's deliveries.
type sending struct {
	number    int       // in progress
	slowUntil time.Time // one took long
}

// begin counts a delivery to the devices of a user, unless the user has the share of the workers already.
func (s *Service) begin(u id.User) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	own, share := s.sending[u], max(s.config.Workers/2, 1)
	if time.Now().Before(own.slowUntil) {
		share = 1
	}
	if own.number >= share {
		return false
	}
	own.number++
	s.sending[u] = own
	return true
}

// end is called after begin. Users who were slow are few, since each has occupied a worker for long.
func (s *Service) end(u id.User, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, own := time.Now(), s.sending[u]
	own.number--
	if took >= slowAfter {
		own.slowUntil = now.Add(slowFor)
	}
	s.sending[u] = own
	over := func(_ id.User, o sending) bool { return o.number == 0 && !now.Before(o.slowUntil) }
	if took >= slowAfter {
		maps.DeleteFunc(s.sending, over)
	} else if over(u, own) {
		delete(s.sending, u)
	}
}

// send sends a notification through the provider of a subscription.
func (s *Service) send(ctx context.Context, p *subscription, n *notification) *result {
	to := s.providers[p.provider]
	if to == nil {
		return &result{kind: failed, detail: "the server is not set up for this provider any more"}
	}
	r := to.send(ctx, p, n)
	return &r
}

// load returns a row of pushes with its subscription; nil if they are gone.
func (s *Service) load(ctx context.Context, d delivery) (p *subscription, row push, err error) {
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		var found bool
		if row, found, err = pushOf(ctx, tx, d); err != nil || !found {
			return err
		}
		p = &subscription{}
		err := p.scan(tx.QueryRowContext(ctx, `SELECT `+subscriptionColumns+` FROM push_subscriptions WHERE n = $1`, d.Subscription))
		if errors.Is(err, sql.ErrNoRows) {
			p, err = nil, nil
		}
		return err
	})
	return p, row, err
}

// release stores that a row has no job, unless it has a newer message.
func (s *Service) release(ctx context.Context, d delivery, row push) error {
	err := s.deps.DB.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE pushes SET queued_ms = 0 WHERE subscription = $1 AND conversation = $2 AND seq = $3`, d.Subscription, int64(d.Conversation), int64(row.seq))
		return err
	})
	return err
}

// compose checks whether a message is to be pushed, and makes its notification. done says why not, or for how long to wait. seq is the message's.
func (s *Service) compose(ctx context.Context, p *subscription, c id.Conversation, row push) (n *notification, seq uint64, done *result, err error) {
	seq = row.seq
	ended, err := s.deps.Accounts.EndedSessions(ctx, []id.Session{p.session})
	if err != nil {
		return nil, seq, nil, err
	}
	if len(ended) > 0 {
		return nil, seq, &result{kind: gone, detail: "its session has ended"}, nil
	}
	settings, err := s.GetSettings(ctx, p.owner)
	if err != nil {
		return nil, seq, nil, err
	}
	chosen, err := s.deps.Accounts.SettingsOf(ctx, []id.User{p.owner})
	if err != nil {
		return nil, seq, nil, err
	}
	if chosen[p.owner].GetAvailability() == presencev1.Availability_AVAILABILITY_DO_NOT_DISTURB || isQuiet(settings, s.deps.Clock.Now()) {
		return nil, seq, drop("the user wants no push notifications at this time"), nil
	}
	conversation, err := s.deps.Inbox.GetConversation(ctx, p.owner, c)
	if errs.Is(err, errs.NotFound) || errs.Is(err, errs.Denied) {
		return nil, seq, drop("the user may not read the conversation any more"), nil
	}
	if err != nil {
		return nil, seq, nil, err
	}
	if done, err = s.mayPush(ctx, p, conversation, row); done != nil || err != nil {
		return nil, seq, done, err
	}
	m, err := s.newest(ctx, p.owner, conversation, row)
	if err != nil {
		return nil, seq, nil, err
	}
	if m == nil {
		return nil, seq, drop("the message was recalled or deleted, or is from a user who is blocked or muted"), nil
	}
	n, err = s.notificationOf(ctx, p.owner, conversation, m, settings.ShowText)
	return n, m.Seq, nil, err
}

// mayPush checks what concerns the whole conversation.
func (s *Service) mayPush(ctx context.Context, p *subscription, c *chatv1.Conversation, row push) (*result, error) {
	state := c.State
	switch {
	case state.GetMuted() || state.GetArchived():
		return drop("the conversation is muted or archived"), nil
	case c.LeaveSeq != 0:
		return drop("the user has left the conversation"), nil
	case state.GetReadSeq() >= row.seq:
		return drop("the user has read it"), nil
	case !c.Large:
		return nil, nil
	}
	status, err := s.deps.Directory.Statuses(ctx, []id.User{p.owner})
	if err != nil || !status[0].Online || status[0].Away {
		return nil, err
	}
	if waited := s.nowMs() - row.changedMs; waited < graceDelay.Milliseconds() { // a connection may have broken without notice
		return &result{kind: retry, wait: graceDelay - time.Duration(waited)*time.Millisecond}, nil
	}
	return drop("a device of the user is active"), nil
}

// newest returns the newest message of a row that is to be pushed; nil if there is none. Messages that were replaced by a newer one are pushed if that was recalled.
func (s *Service) newest(ctx context.Context, u id.User, c *chatv1.Conversation, row push) (*chatv1.Message, error) {
	low := max(row.sent, c.State.GetReadSeq()) + 1
	if row.seq-low >= replacedSeqs {
		low = row.seq - replacedSeqs + 1
	}
	var seqs []uint64
	if c.Large {
		for _, seq := range c.Mentions {
			if low <= seq && seq <= row.seq {
				seqs = append(seqs, seq)
			}
		}
		if len(seqs) == 0 {
			return nil, nil
		}
	} else {
		for seq := low; seq <= row.seq; seq++ {
			seqs = append(seqs, seq)
		}
	}
	var list []*chatv1.Message
	for len(seqs) > 0 { // a page may end early
		page, err := s.deps.Chat.GetMessages(ctx, u, &chatv1.GetMessagesRequest{Conversation: c.Id, Seqs: seqs})
		if err != nil {
			return nil, err
		}
		list = append(list, page.Messages...)
		if !page.More || len(page.Messages) == 0 {
			break
		}
		last := page.Messages[len(page.Messages)-1].Seq
		seqs = slices.DeleteFunc(seqs, func(seq uint64) bool { return seq <= last })
	}
	list = slices.DeleteFunc(list, func(m *chatv1.Message) bool { return !isPushed(m, u) })
	return s.newestOf(ctx, u, list)
}

// newestOf returns the newest of some messages whose sender is not silenced.
func (s *Service) newestOf(ctx context.Context, u id.User, list []*chatv1.Message) (newest *chatv1.Message, err error) {
	if len(list) == 0 {
		return nil, nil
	}
	var senders []id.User
	for _, m := range list {
		senders = append(senders, id.User(m.Sender))
	}
	slices.Sort(senders)
	senders = slices.Compact(senders)
	err = s.deps.DB.ReadSnapshot(ctx, func(tx *sql.Tx) error {
		silenced, err := s.deps.Accounts.MutedOrBlockedAmong(ctx, tx, u, senders)
		newest = nil
		for _, m := range list {
			if !silenced[id.User(m.Sender)] && (newest == nil || m.Seq > newest.Seq) {
				newest = m
			}
		}
		return err
	})
	return newest, err
}

// notificationOf makes the notification of a message.
func (s *Service) notificationOf(ctx context.Context, u id.User, c *chatv1.Conversation, m *chatv1.Message, showText bool) (*notification, error) {
	list, err := s.deps.Inbox.ListConversations(ctx, u, &chatv1.ListConversationsRequest{Limit: 1})
	if err != nil {
		return nil, err
	}
	n := &notification{Version: 1, User: u.String(), Conversation: strconv.FormatUint(c.Id, 10), Seq: strconv.FormatUint(m.Seq, 10), Badge: list.Badge, message: m.Id}
	if c.Parent != 0 {
		n.Parent, n.Root = strconv.FormatUint(c.Parent, 10), strconv.FormatUint(c.RootSeq, 10)
	}
	if !showText {
		return n, nil
	}
	users, err := s.deps.Accounts.GetUsers(ctx, &accountv1.GetUsersRequest{Users: []uint64{m.Sender}})
	if err != nil {
		return nil, err
	}
	if len(users) == 1 {
		n.Title = users[0].DisplayName
		if b := users[0].Bridge; b != "" { // a name of another system may be that of somebody here
			n.Title = excerpt.WithSuffix(n.Title, " · "+b, maxBridgedName)
		}
	}
	n.Body = preview(m.Content)
	if c.Peer == 0 && c.Title != "" {
		n.Title, n.Body = c.Title, strings.TrimSuffix(n.Title+": "+n.Body, ": ")
	}
	return n, nil
}

// preview returns the beginning of what a message says, in one line.
func preview(c *chatv1.Content) string {
	text := c.GetText()
	for _, caption := range []string{c.GetImage().GetCaption(), c.GetVideo().GetCaption(), c.GetFile().GetName(), c.GetAlbum().GetCaption(), c.GetCard().GetTitle(), c.GetLocation().GetLabel(), c.GetCustom().GetFallback()} {
		if text == "" {
			text = caption
		}
	}
	return excerpt.Marked(strings.Join(strings.Fields(text), " "), maxPreview)
}

// cause is the text of an error without the address that was called: that of a push service is a secret.
func cause(err error) string {
	var called *url.Error
	if errors.As(err, &called) {
		err = called.Err
	}
	return err.Error()
}
