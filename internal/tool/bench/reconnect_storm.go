package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gobwas/ws"
	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/progress"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// A reconnect storm: many connections are cut at once, and their clients come back as docs/protocol.md asks of them. Each had some events, missed one while it
// was away, and must get that one and none of the others. Other pairs of users chat before the storm and during it.

// stormConfig has the flags of rialto bench reconnect.
type stormConfig struct {
	url, key            string
	connections, events int
	senders             int
	firstWait           time.Duration
	quiet, within       time.Duration
	json                bool
}

// stormResult of a reconnect storm.
type stormResult struct {
	Connections int `json:"connections"`
	Resumed     int `json:"resumed"`
	// Tries to connect that failed, or were refused.
	Failed uint64 `json:"failed_tries"`
	// Times from the moment at which all might come back.
	P50S float64 `json:"resumed_p50_s"`
	P99S float64 `json:"resumed_p99_s"`
	AllS float64 `json:"resumed_all_s"`
	// Missed events came with the resume; Lost ones did not. Reloaded ones came although the client had them.
	Missed   uint64 `json:"missed_events"`
	Lost     uint64 `json:"lost_events"`
	Reloaded uint64 `json:"reloaded_events"`
	// Senders are the other pairs, before the storm and during it.
	Senders *othersResult `json:"senders"`
	Passed  bool          `json:"passed"`
}

func (r *stormResult) print(out io.Writer) {
	fmt.Fprintf(out, "resumed       %d of %d connections: half in %.2f s, 99 %% in %.2f s, all in %.2f s; %d tries failed\n", r.Resumed, r.Connections, r.P50S, r.P99S, r.AllS, r.Failed)
	fmt.Fprintf(out, "events        %d that were missed came, %d are lost, %d came again\n", r.Missed, r.Lost, r.Reloaded)
	s := r.Senders
	fmt.Fprintf(out, "senders       %d pairs: acknowledged p99 %.2f ms, before the storm %.2f ms; delivery p99 %.2f ms, before %.2f ms (ratio %.2f)\n", s.Pairs, s.AckP99, s.QuietAckP99, s.DeliveryP99, s.QuietDeliveryP99, s.Ratio)
	fmt.Fprintf(out, "passed        %v\n", r.Passed)
}

func (c *stormConfig) parse(args []string, errOut io.Writer) (int, bool) {
	fs := flag.NewFlagSet("rialto bench reconnect", flag.ContinueOnError)
	fs.SetOutput(errOut)
	fs.StringVar(&c.url, "url", "http://127.0.0.1:7070", "the deployment's `URL`, or those of its nodes, separated by commas: a client comes back to the next one")
	fs.StringVar(&c.key, "api-key", "", "API `key`, which creates users faster than registration; see rialto admin key create")
	fs.IntVar(&c.connections, "connections", 1000, "`number` of connections that are cut, each of a different user; even")
	fs.IntVar(&c.events, "events", 5, "events that each user has before the cut")
	fs.IntVar(&c.senders, "senders", 20, "`number` of pairs of other users, who chat before the storm and during it")
	fs.DurationVar(&c.firstWait, "first-wait", firstWait, "the random delay of a client's first try is below this; docs/protocol.md asks for 500ms")
	fs.DurationVar(&c.quiet, "quiet", 10*time.Second, "how long the senders are measured before the storm")
	fs.DurationVar(&c.within, "within", 2*time.Minute, "how long clients may take to resume")
	fs.BoolVar(&c.json, "json", false, "print the result as JSON")
	if code, ok := parse(fs, args); !ok {
		return code, false
	}
	switch err := checkURLs(c.url); {
	case err != nil:
		fmt.Fprintf(errOut, "--url: %v\n", err)
	case fs.NArg() > 0:
		fmt.Fprintf(errOut, "rialto bench reconnect: unexpected argument %q\n", fs.Arg(0))
	case c.connections < 2 || c.connections%2 > 0 || c.events < 1 || c.events > 1000 || c.senders < 1:
		fmt.Fprintln(errOut, "--connections is even and at least 2, --events is 1 to 1,000, and --senders at least 1")
	case c.firstWait <= 0 || c.quiet <= 0 || c.within <= 0:
		fmt.Fprintln(errOut, "--first-wait, --quiet and --within are positive")
	default:
		return 0, true
	}
	return 2, false
}

func reconnectMain(args []string, out, errOut io.Writer) int {
	var c stormConfig
	if code, ok := c.parse(args, errOut); !ok {
		return code
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s := &reconnectStorm{config: c, deploy: newDeployment(c.url, c.key, progress.New(errOut))}
	r, err := s.run(ctx)
	code := report(out, errOut, r, err, c.json, func() { r.print(out) })
	if err == nil && !r.Passed {
		code = 1
	}
	return code
}

// reconnectStorm is one run of the command.
type reconnectStorm struct {
	config  stormConfig
	deploy  *deployment
	clients []*stormClient
	failed  atomic.Uint64

	mu    sync.Mutex // guards took
	took  []time.Duration
	ended atomic.Int64 // clients that resumed
}

// stormClient is a client whose connection is cut, and who reconnects.
type stormClient struct {
	number       int
	tries        int // that failed
	user         *user
	sock         *socket
	position     *chatv1.Position
	conversation uint64 // with the other one of the pair; the first of them writes
	missed       uint64
	reloaded     uint64
	isOpen       atomic.Bool // it is connected and waits for the cut, and hold pings
}

func (s *reconnectStorm) run(ctx context.Context) (*stormResult, error) {
	defer s.disconnect()
	if err := s.prepare(ctx); err != nil {
		return nil, err
	}
	holding, stop := context.WithCancel(ctx)
	held := make(chan error, 1)
	go func() { held <- s.hold(holding) }() // ends before the cut
	release := sync.OnceValue(func() error { stop(); return <-held })
	defer func() { _ = release() }() // what it returns is returned below, unless there was another error before
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	before, err := s.newSenders(ctx, s.config.quiet)
	if err != nil {
		return nil, err
	}
	quiet, err := runOthers(ctx, before, func() {})
	if err != nil {
		return nil, err
	}
	during, err := s.newSenders(ctx, s.config.within)
	if err != nil {
		return nil, err
	}
	if err := release(); err != nil {
		return nil, err
	}
	if err := s.cut(ctx); err != nil {
		return nil, err
	}
	var failed error
	beside, err := runOthers(ctx, during, func() {
		failed = s.reconnectAll(ctx)
		for !during.interruptSending(func() {}) { // it may not have begun
			if during.failure() != nil || backoff.Sleep(ctx, 10*time.Millisecond) != nil {
				return
			}
		}
	})
	if err := errors.Join(failed, err); err != nil {
		return nil, err
	}
	return s.result(quiet, beside), nil
}

// newSenders prepares the load of the other pairs.
func (s *reconnectStorm) newSenders(ctx context.Context, duration time.Duration) (*load, error) {
	c := chatConfig{url: s.config.url, key: s.config.key, pairs: s.config.senders, devices: 1, window: 1, rate: perPair * s.config.senders, bytes: 200, seed: 1,
		duration: duration, drain: 30 * time.Second, patience: 2 * time.Minute}
	l := &load{config: c, deploy: newDeployment(c.url, c.key, s.deploy.printer)}
	return l, l.prepareAll(ctx)
}

// prepare makes the users and their conversations, and gives each its events.
func (s *reconnectStorm) prepare(ctx context.Context) error {
	users, err := s.deploy.users(ctx, s.config.connections, 1)
	if err != nil {
		return err
	}
	s.clients = make([]*stormClient, len(users))
	s.deploy.progress("opening %d conversations, with %d messages each", len(users)/2, s.config.events)
	return each(ctx, len(users)/2, 16, func(ctx context.Context, i int) error {
		a, b := users[2*i], users[2*i+1]
		v, err := s.deploy.pair(ctx, a, b)
		if err != nil {
			return err
		}
		for k, u := range []*user{a, b} {
			s.clients[2*i+k] = &stormClient{number: 2*i + k, user: u, conversation: v.Id, position: &chatv1.Position{}}
		}
		for n := range s.config.events {
			if err := s.clients[2*i].send(ctx, uint64(n+1)); err != nil {
				return err
			}
		}
		return nil
	})
}

// open connects all clients. hold pings those that are connected, since this may take longer than the server waits for a frame.
func (s *reconnectStorm) open(ctx context.Context) error {
	s.deploy.progress("opening %d connections", len(s.clients))
	return each(ctx, len(s.clients), 32, func(ctx context.Context, i int) error {
		c := s.clients[i]
		if err := c.connect(ctx, s.deploy, ""); err != nil {
			return err
		}
		for have := 0; have < s.config.events; { // the last acknowledged messages may not be in the inbox yet
			if err := ctx.Err(); err != nil {
				return err
			}
			fresh, _, err := c.catchUp()
			if err != nil {
				return err
			}
			have += fresh
		}
		c.isOpen.Store(true)
		return nil
	})
}

// send sends message n of a pair, by a call.
func (c *stormClient) send(ctx context.Context, n uint64) error {
	_, err := c.user.endpoint.chat.Send(ctx, as(c.user.sessions[0].AccessToken, &chatv1.SendRequest{Conversation: c.conversation, ClientSeq: n, Content: &chatv1.Content{Kind: &chatv1.Content_Text{Text: fmt.Sprint("message ", n)}}}))
	if err != nil {
		return fmt.Errorf("sending a message: %w", err)
	}
	return nil
}

// connect opens a connection, to the next address with each try.
func (c *stormClient) connect(ctx context.Context, d *deployment, query string) error {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	at := d.endpoints[(c.number+c.tries)%len(d.endpoints)]
	sock, err := dial(ctx, at.url+query, c.user.sessions[0].AccessToken, net.IPv4(127, 0, 0, byte(2+c.number/20_000)), 4<<10)
	if err != nil {
		return err
	}
	if err = sock.net.SetDeadline(time.Now().Add(silence)); err == nil {
		_, err = readHello(sock)
	}
	if err != nil {
		_ = sock.net.Close() // the first error is reported
		return err
	}
	c.sock = sock
	return nil
}

// catchUp syncs from the client's position, and returns how many events of messages are new to it, and how many it had.
func (c *stormClient) catchUp() (fresh, again int, err error) {
	for {
		ask, err := proto.Marshal(&gatewayv1.ClientFrame{Sync: &chatv1.SyncRequest{After: c.position, Limit: 2000}})
		if err != nil {
			return fresh, again, err
		}
		if err := c.sock.write(ask); err != nil {
			return fresh, again, err
		}
		b, err := c.sock.page()
		if err != nil {
			return fresh, again, err
		}
		var page chatv1.SyncResponse
		if err := proto.Unmarshal(b, &page); err != nil {
			return fresh, again, err
		}
		if page.Reset_ {
			return fresh, again, errReset
		}
		for _, e := range page.Events {
			switch {
			case e.Epoch == c.position.Epoch && e.Seq <= c.position.Seq:
				again++
			case e.GetMessage().GetContent().GetText() != "":
				fresh++
			}
		}
		if page.Next != nil {
			c.position = page.Next
		}
		if !page.More {
			return fresh, again, nil
		}
	}
}

// hold keeps the open connections alive until ctx ends.
func (s *reconnectStorm) hold(ctx context.Context) error {
	ping, err := proto.Marshal(&gatewayv1.ClientFrame{Ping: &gatewayv1.Ping{}})
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		for _, c := range s.clients {
			if !c.isOpen.Load() {
				continue
			}
			if err := errors.Join(c.sock.net.SetDeadline(time.Now().Add(silence)), c.sock.write(ping)); err != nil {
				return fmt.Errorf("a connection was lost before the cut: %w", err)
			}
		}
		_ = backoff.Sleep(ctx, silence/4) // it ends with ctx
	}
	return nil
}

// cut breaks all connections at once, without a goodbye, and has each client miss a message.
func (s *reconnectStorm) cut(ctx context.Context) error {
	s.deploy.progress("cutting %d connections", len(s.clients))
	s.disconnect()
	return each(ctx, len(s.clients)/2, 16, func(ctx context.Context, i int) error {
		return s.clients[2*i].send(ctx, uint64(s.config.events+1))
	})
}

func (s *reconnectStorm) disconnect() {
	for _, c := range s.clients {
		if c == nil || c.sock == nil {
			continue
		}
		if tcp, ok := c.sock.net.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // it may be closed already
		}
		_ = c.sock.net.Close() // likewise
		c.sock = nil
	}
}

// reconnectAll has all clients reconnect at once. It returns when all have resumed, or when their time is over.
func (s *reconnectStorm) reconnectAll(ctx context.Context) error {
	s.deploy.progress("%d clients come back", len(s.clients))
	step := s.deploy.printer.Step("resuming")
	defer step.End()
	ctx, cancel := context.WithTimeout(ctx, s.config.within)
	defer cancel()
	var group sync.WaitGroup
	start, done := time.Now(), make(chan struct{})
	errs := make([]error, len(s.clients))
	for i, c := range s.clients {
		group.Go(func() { errs[i] = s.resume(ctx, c, start) })
	}
	go func() { // ends with the clients
		group.Wait()
		close(done)
	}()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			n := s.ended.Load()
			step.At(float64(n)/float64(len(s.clients)), fmt.Sprintf("%d of %d", n, len(s.clients)))
		case <-done:
			return errors.Join(errs...)
		}
	}
}

// resume connects a client as docs/protocol.md asks, and syncs until it has the message that it missed.
func (s *reconnectStorm) resume(ctx context.Context, c *stormClient, start time.Time) error {
	wait, notBefore := s.config.firstWait, time.Duration(0)
	for {
		if backoff.Sleep(ctx, notBefore+rand.N(wait)) != nil {
			return nil // its time is over, which the result shows
		}
		err := c.resume(ctx, s.deploy)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			return nil
		}
		lost := (*lostError)(nil)
		if !errors.As(err, &lost) {
			return fmt.Errorf("a client cannot come back: %w", err)
		}
		s.failed.Add(1)
		c.tries++
		wait, notBefore = min(2*max(wait, firstWait/2), longestWait), lost.retry
	}
	s.mu.Lock()
	s.took = append(s.took, time.Since(start))
	s.mu.Unlock()
	s.ended.Add(1)
	return nil
}

func (c *stormClient) resume(ctx context.Context, d *deployment) error {
	if err := c.connect(ctx, d, "?resume=1"); err != nil {
		var lost *lostError
		if refused := ws.StatusError(0); !errors.As(err, &refused) && !errors.As(err, &lost) { // there was no answer, or it broke off
			return &lostError{cause: err}
		}
		return err
	}
	for c.missed == 0 { // it may not be in the inbox yet
		if err := ctx.Err(); err != nil {
			return err
		}
		fresh, again, err := c.catchUp()
		if err != nil {
			return &lostError{cause: err}
		}
		c.missed += uint64(fresh)
		c.reloaded += uint64(again)
		if fresh == 0 {
			if err := backoff.Sleep(ctx, 10*time.Millisecond); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *reconnectStorm) result(quiet, beside *result) *stormResult {
	r := &stormResult{Connections: len(s.clients), Resumed: len(s.took), Failed: s.failed.Load()}
	slices.Sort(s.took)
	if n := len(s.took); n > 0 {
		r.P50S, r.P99S, r.AllS = s.took[n/2].Seconds(), s.took[n*99/100].Seconds(), s.took[n-1].Seconds()
	}
	for _, c := range s.clients {
		r.Missed += c.missed
		r.Reloaded += c.reloaded
		if c.missed == 0 {
			r.Lost++
		}
		if c.missed > 1 {
			r.Reloaded += c.missed - 1
		}
	}
	o := &load{config: chatConfig{others: s.config.senders}}
	r.Senders = o.compareOthers(quiet, beside)
	r.Passed = r.Resumed == r.Connections && r.Lost == 0 && r.Reloaded == 0 && r.Senders.Passed
	return r
}
