package bench

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/progress"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// deployment under load.
type deployment struct {
	endpoints []*endpoint
	key       string // API key, or empty: users register
	run       string // makes the handles of this run unique
	http      *http.Client
	printer   *progress.Printer
	patience  time.Duration // for how long a user's session is asked for again while the server is busy
}

func (d *deployment) progress(format string, args ...any) { d.printer.Say(format, args...) }

// defaultPatience of --patience.
const defaultPatience = 2 * time.Minute

// newDeployment returns a deployment with one address or several, separated by commas.
func newDeployment(url, key string, printer *progress.Printer) *deployment {
	d := &deployment{key: key, patience: defaultPatience, run: strconv.FormatInt(time.Now().UnixNano(), 36), printer: printer,
		http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: time.Minute}}
	d.endpoints = newEndpoints(d.http, url)
	return d
}

// user with one session for each device.
type user struct {
	id       uint64
	endpoint *endpoint // for calls, and for the first device
	sessions []*accountv1.Session
}

func as[T any](token string, m *T) *connect.Request[T] {
	r := connect.NewRequest(m)
	r.Header().Set("Authorization", "Bearer "+token)
	return r
}

// each calls do for 0 to n-1, some concurrently, and stops at the first error.
func each(ctx context.Context, n, atOnce int, do func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(n, atOnce) {
		group.Go(func() {
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := do(ctx, i); err != nil {
					cancel(err)
				}
			}
		})
	}
	group.Wait()
	return context.Cause(ctx)
}

// inSteps calls do for 0 to n-1, some at the same time, and reports the progress.
func (d *deployment) inSteps(ctx context.Context, name string, n int, do func(ctx context.Context, i int) error) error {
	step := d.printer.Step(name)
	defer step.End()
	var done atomic.Int64
	return each(ctx, n, 16, func(ctx context.Context, i int) error {
		if err := do(ctx, i); err != nil {
			return err
		}
		k := done.Add(1)
		step.At(float64(k)/float64(n), fmt.Sprintf("%d of %d", k, n))
		return nil
	})
}

// users creates n users with a number of devices each.
func (d *deployment) users(ctx context.Context, n, devices int) ([]*user, error) {
	list := make([]*user, n)
	var made atomic.Int64
	step := d.printer.Step("making users")
	defer step.End()
	err := each(ctx, n, 16, func(ctx context.Context, i int) error {
		u := &user{endpoint: d.endpointOf(i, 0)}
		for dev := range devices {
			s, err := d.session(ctx, i, dev)
			if err != nil {
				return err
			}
			u.id = s.User
			u.sessions = append(u.sessions, s)
			if dev > 0 {
				continue
			}
			if _, err := u.endpoint.accounts.UpdateSettings(ctx, as(s.AccessToken, &accountv1.UpdateSettingsRequest{Settings: &accountv1.Settings{WhoMayAdd: accountv1.WhoMayAdd_WHO_MAY_ADD_EVERYONE}})); err != nil {
				return fmt.Errorf("letting others add a user to groups: %w", err)
			}
		}
		list[i] = u
		k := made.Add(1)
		step.At(float64(k)/float64(n), fmt.Sprintf("%d of %d", k, n))
		return nil
	})
	return list, err
}

const password = "only for this load test"

// session makes a session of a user, and with the first one the user. While the server is busy, it is asked again.
func (d *deployment) session(ctx context.Context, i, device int) (*accountv1.Session, error) {
	delays := backoff.New(200*time.Millisecond, 5*time.Second)
	for end, again := time.Now().Add(d.patience), false; ; again = true {
		s, err := d.trySession(ctx, i, device, again)
		if err == nil || !isBusy(err) || time.Now().After(end) {
			return s, err
		}
		if err := delays.Wait(ctx); err != nil {
			return nil, err
		}
	}
}

// isBusy reports whether a server that runs has refused a call for now.
func isBusy(err error) bool {
	switch connect.CodeOf(err) {
	case connect.CodeUnavailable, connect.CodeResourceExhausted, connect.CodeDeadlineExceeded:
		return detailOf(err) != nil
	}
	return false
}

// trySession asks for a session once. If it is asked for again, an earlier attempt may have registered the user.
func (d *deployment) trySession(ctx context.Context, i, device int, again bool) (*accountv1.Session, error) {
	handle := fmt.Sprintf("b%s.%d", d.run, i)
	at := d.endpointOf(i, device)
	client := &accountv1.Client{Name: "rialto bench", Type: "bench" + strconv.Itoa(device)}
	if d.key != "" {
		if device == 0 {
			if _, err := at.admin.PutUser(ctx, as(d.key, &accountv1.PutUserRequest{ExternalId: handle, Handle: handle})); err != nil {
				return nil, fmt.Errorf("creating a user: %w", err)
			}
		}
		s, err := at.admin.CreateSession(ctx, as(d.key, &accountv1.CreateSessionRequest{ExternalId: handle, Client: client}))
		if err != nil {
			return nil, fmt.Errorf("logging a user in: %w", err)
		}
		return s.Msg, nil
	}
	if device == 0 {
		s, err := at.accounts.Register(ctx, connect.NewRequest(&accountv1.RegisterRequest{Handle: handle, Password: password, DisplayName: handle, Client: client}))
		if err == nil {
			return s.Msg, nil
		}
		if !again || connect.CodeOf(err) != connect.CodeAlreadyExists {
			return nil, fmt.Errorf("registering a user: %w", err)
		}
	}
	s, err := at.accounts.Login(ctx, connect.NewRequest(&accountv1.LoginRequest{Handle: handle, Password: password, Client: client}))
	if err != nil {
		return nil, fmt.Errorf("logging a user in: %w", err)
	}
	return s.Msg, nil
}

// pair opens the one-to-one conversation of two users.
func (d *deployment) pair(ctx context.Context, a, b *user) (*chatv1.Conversation, error) {
	c, err := a.endpoint.chat.OpenDirect(ctx, as(a.sessions[0].AccessToken, &chatv1.OpenDirectRequest{User: b.id}))
	if err != nil {
		return nil, fmt.Errorf("opening a conversation: %w", err)
	}
	return c.Msg, nil
}

// group creates a group, owned by the first user.
func (d *deployment) group(ctx context.Context, members []*user) (*chatv1.Conversation, error) {
	token := members[0].sessions[0].AccessToken
	ids := make([]uint64, 0, len(members))
	for _, m := range members[1:] {
		ids = append(ids, m.id)
	}
	first := ids[:min(len(ids), 499)]
	c, err := members[0].endpoint.chat.CreateGroup(ctx, as(token, &chatv1.CreateGroupRequest{Title: "bench " + d.run, Members: first}))
	if err != nil {
		return nil, fmt.Errorf("creating a group: %w", err)
	}
	for ids = ids[len(first):]; len(ids) > 0; {
		k := min(len(ids), 500)
		if _, err := members[0].endpoint.chat.Invite(ctx, as(token, &chatv1.InviteRequest{Conversation: c.Msg.Id, Users: ids[:k]})); err != nil {
			return nil, fmt.Errorf("inviting members: %w", err)
		}
		ids = ids[k:]
	}
	g, err := members[0].endpoint.chat.GetConversation(ctx, as(token, &chatv1.GetConversationRequest{Conversation: c.Msg.Id}))
	if err != nil {
		return nil, fmt.Errorf("reading a group: %w", err)
	}
	return g.Msg, nil
}
