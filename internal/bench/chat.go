package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"time"

	gatewayv1 "github.com/rialto-im/rialto/gen/rialto/gateway/v1"
)

type chatConfig struct {
	url, key, text               string
	pairs, groups, size, senders int
	devices, window, rate, bytes int
	duration, drain              time.Duration
	json, oneWay, whole          bool
	seed                         uint64
}

var errReset = errors.New("the server could not give the stream whole (reset)")

func (c *chatConfig) parse(args []string, errOut io.Writer) (int, bool) {
	fs := flag.NewFlagSet("rialto bench chat", flag.ContinueOnError)
	fs.SetOutput(errOut)
	fs.StringVar(&c.url, "url", "http://127.0.0.1:7070", "the deployment's `URL`, or those of its nodes with commas between them: each user's devices, and the two of a pair, are on different ones")
	fs.StringVar(&c.key, "api-key", "", "API `key`, to make users faster than by registering; see rialto admin key create")
	fs.IntVar(&c.pairs, "pairs", 0, "`number` of pairs of users who write to each other (default 100 without --groups)")
	fs.BoolVar(&c.oneWay, "one-way", false, "only one of each pair writes")
	fs.IntVar(&c.groups, "groups", 0, "`number` of groups")
	fs.IntVar(&c.size, "group-size", 100, "members of each group; above 500 it is a large group")
	fs.IntVar(&c.senders, "senders", 1, "members of each group who write")
	fs.IntVar(&c.devices, "devices", 1, "devices of each user, each with a connection; the first writes")
	fs.IntVar(&c.window, "window", 1, "messages that a sender has under way at once")
	fs.BoolVar(&c.whole, "whole", false, "a message counts in --window until all have it, instead of until it is acknowledged; for one sender in each conversation")
	fs.IntVar(&c.rate, "rate", 0, "messages a second of all senders together, whatever the answers (open loop), in place of --window")
	fs.DurationVar(&c.duration, "duration", 10*time.Second, "how long to send")
	fs.DurationVar(&c.drain, "drain", 30*time.Second, "how long to wait for what is under way afterwards")
	fs.IntVar(&c.bytes, "size", 200, "`bytes` of each text")
	fs.StringVar(&c.text, "text", "", "`file` of text to send; otherwise Debian's fortune packages, or sentences of our own")
	fs.Uint64Var(&c.seed, "seed", 1, "seed of what is chosen at random")
	fs.BoolVar(&c.json, "json", false, "print the result as JSON")
	if code, ok := parse(fs, args); !ok {
		return code, false
	}
	if c.pairs == 0 && c.groups == 0 {
		c.pairs = 100
	}
	switch err := checkURLs(c.url); {
	case fs.NArg() > 0:
		fmt.Fprintf(errOut, "rialto bench chat takes no argument %q\n", fs.Arg(0))
	case err != nil:
		fmt.Fprintf(errOut, "--url: %v\n", err)
	case c.pairs < 0 || c.groups < 0 || c.devices < 1 || c.window < 1 || c.window > 512 || c.rate < 0 || c.duration <= 0:
		fmt.Fprintln(errOut, "pairs, groups and rate are not negative, devices at least 1, window 1 to 512, duration positive")
	case c.groups > 0 && (c.size < 2 || c.size > 10_000 || c.senders < 1 || c.senders > c.size):
		fmt.Fprintln(errOut, "a group has 2 to 10,000 members, and 1 to all of them send")
	case c.whole && (c.rate > 0 || c.senders > 1 || c.pairs > 0 && !c.oneWay):
		fmt.Fprintln(errOut, "--whole goes with a window, and with one sender in each conversation: --one-way for pairs, --senders 1 for groups")
	case c.bytes < headLength+1 || c.bytes > 100_000:
		fmt.Fprintf(errOut, "a text has %d to 100,000 bytes\n", headLength+1)
	default:
		return 0, true
	}
	return 2, false
}

// load is one run.
type load struct {
	config  chatConfig
	deploy  *deployment
	corpus  corpus
	clients []*client
	rooms   []*room
	readers sync.WaitGroup

	mu     sync.Mutex // guards failed
	failed error
}

func chatMain(args []string, out, errOut io.Writer) int {
	var c chatConfig
	if code, ok := c.parse(args, errOut); !ok {
		return code
	}
	debug.SetGCPercent(400)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	progress := progressTo(errOut)
	l := &load{config: c, deploy: newDeployment(c.url, c.key, progress)}
	r, err := l.run(ctx)
	code := report(out, errOut, r, err, c.json, func() { r.print(out) })
	if err == nil && !r.sound() {
		code = 1
	}
	return code
}

func (l *load) run(ctx context.Context) (*result, error) {
	var source string
	var err error
	if l.corpus, source, err = newCorpus(l.config.text, l.config.bytes, l.config.seed); err != nil {
		return nil, err
	}
	l.deploy.progress("text from %s", source)
	if err := l.prepare(ctx); err != nil {
		return nil, err
	}
	defer l.hangUp()
	l.deploy.progress("%d connections in %d conversations; sending for %v", len(l.clients), len(l.rooms), l.config.duration)
	cpu := serverCPU(urls(l.config.url))
	begin := time.Now()
	for _, c := range l.clients {
		l.readers.Go(func() { l.read(c) })
	}
	beating, stop := context.WithCancel(ctx)
	defer stop()
	l.readers.Go(func() { l.beat(beating) })
	l.send(ctx)
	took := time.Since(begin)
	acked, delivered := l.acked(), l.delivered()
	l.settle(ctx)
	stop()
	r := l.result(took, acked, delivered)
	if cpu != nil && r.Acked > 0 {
		r.ServerCPU = cpu() * 1e6 / float64(r.Acked)
	}
	return r, l.failure()
}

// read until a connection ends. That it does is the end of the load: say of which node.
func (l *load) read(c *client) {
	if err := c.run(); err != nil {
		l.fail(fmt.Errorf("over the connection to %s: %w", l.deploy.doors[c.door].url, err))
	}
}

func (l *load) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		l.failed = err
	}
}

func (l *load) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil && !errors.Is(l.failed, net.ErrClosed) {
		return l.failed
	}
	return nil
}

// prepare makes users, conversations and connections.
func (l *load) prepare(ctx context.Context) error {
	c, d := &l.config, l.deploy
	count := 2*c.pairs + c.groups*c.size
	d.progress("making %d users", count)
	users, err := d.users(ctx, count, c.devices)
	if err != nil {
		return err
	}
	d.progress("opening %d conversations", c.pairs+c.groups)
	l.rooms = make([]*room, c.pairs+c.groups)
	err = each(ctx, len(l.rooms), 16, func(ctx context.Context, i int) error {
		if i < c.pairs {
			v, err := d.pair(ctx, users[2*i], users[2*i+1])
			if err != nil {
				return err
			}
			l.rooms[i] = &room{id: v.Id, base: v.LastSeq}
			return nil
		}
		at := 2*c.pairs + (i-c.pairs)*c.size
		v, err := d.group(ctx, users[at:at+c.size])
		if err != nil {
			return err
		}
		l.rooms[i] = &room{id: v.Id, base: v.LastSeq, large: v.Large}
		return nil
	})
	if err != nil {
		return err
	}
	// Groups become large, and connections follow them, a moment after the invitations are answered.
	d.progress("opening %d connections", count*c.devices)
	l.clients = make([]*client, count*c.devices)
	return each(ctx, len(l.clients), 32, func(ctx context.Context, i int) error {
		u := i / c.devices
		cl, err := l.connect(ctx, i, users[u], i%c.devices)
		if err != nil {
			return err
		}
		r := l.rooms[min(u/2, c.pairs)%len(l.rooms)]
		sends := i%c.devices == 0 && (u%2 == 0 || !c.oneWay)
		if u >= 2*c.pairs {
			g := (u - 2*c.pairs) / c.size
			r = l.rooms[c.pairs+g]
			sends = i%c.devices == 0 && (u-2*c.pairs)%c.size < c.senders
		}
		r.listeners.Add(1)
		cl.rooms[r.id] = &seen{room: r, last: r.base, from: map[uint32]*got{}}
		if sends {
			cl.to, r.sender = r, cl
			r.listeners.Add(-1)
		}
		l.clients[i] = cl
		return nil
	})
}

// connect opens one connection and waits for Hello.
func (l *load) connect(ctx context.Context, i int, u *user, device int) (*client, error) {
	buffer := 32 << 10
	if len(l.clients) > 2000 {
		buffer = 4 << 10
	}
	from := net.IP(nil)
	if len(l.clients) > 20_000 {
		from = net.IPv4(127, 0, 0, byte(2+i/20_000))
	}
	at := doorOf(i/l.config.devices, device, len(l.deploy.doors))
	sock, err := dial(ctx, l.deploy.doors[at].url, u.sessions[device].AccessToken, from, buffer)
	if err != nil {
		return nil, err
	}
	hello, err := sock.hello()
	if err != nil {
		return nil, err
	}
	slots := 1024
	if l.config.rate > 0 {
		slots = 1 << 16
	}
	c := &client{load: l, sock: sock, number: uint32(i), door: at, user: u, rooms: map[uint64]*seen{}, pulling: map[uint64]bool{}, position: hello.Tail.GetSeq(), unacked: hello.Tail.GetSeq(), seqBase: hello.ClientSeq}
	c.inFlight = make([]time.Time, slots)
	return c, nil
}

func (l *load) hangUp() {
	for _, c := range l.clients {
		if c != nil {
			_ = c.sock.net.Close() // it may be closed already
		}
	}
	l.readers.Wait()
}

// send keeps the senders going for the duration.
func (l *load) send(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, l.config.duration)
	defer cancel()
	var senders []*client
	for _, c := range l.clients {
		if c.to != nil {
			senders = append(senders, c)
		}
	}
	if l.config.rate > 0 {
		l.pace(ctx, senders)
	} else {
		for _, c := range senders {
			c.writes.Lock()
			if err := c.send(l.config.window, time.Time{}); err != nil {
				l.fail(err)
			}
			c.writes.Unlock()
		}
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil && l.failure() == nil {
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}
	for _, c := range senders {
		c.writes.Lock()
		c.stopped = true
		c.writes.Unlock()
	}
}

// pace sends at a rate, whatever the answers. Each message has the time at which it was due.
func (l *load) pace(ctx context.Context, senders []*client) {
	start, sent := time.Now(), 0
	gap := time.Second / time.Duration(l.config.rate)
	for ctx.Err() == nil && l.failure() == nil {
		now := time.Now()
		for due := start.Add(time.Duration(sent) * gap); !due.After(now); due = start.Add(time.Duration(sent) * gap) {
			c := senders[sent%len(senders)]
			sent++
			c.writes.Lock()
			if c.waiting >= len(c.inFlight) {
				l.fail(errors.New("the server is so far behind the rate that nothing can be measured; lower --rate"))
			} else if err := c.send(1, due); err != nil {
				l.fail(err)
			}
			c.writes.Unlock()
		}
		pause(ctx, 200*time.Microsecond)
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

func (l *load) acked() (n uint64) {
	for _, r := range l.rooms {
		n += r.acked.Load()
	}
	return n
}

func (l *load) delivered() (n uint64) {
	for _, c := range l.clients {
		n += c.delivered.Load()
	}
	return n
}

// expected deliveries of what is acknowledged: to every connection in the conversation but the sender's.
func (l *load) expected() (n uint64) {
	in := map[*room]uint64{}
	for _, c := range l.clients {
		for _, s := range c.rooms {
			in[s.room]++
		}
	}
	for r, k := range in {
		n += r.acked.Load() * (k - 1)
	}
	return n
}

// beat keeps connections open that only listen.
func (l *load) beat(ctx context.Context) {
	for pause(ctx, 5*time.Second); ctx.Err() == nil; pause(ctx, 5*time.Second) {
		l.ping(0)
	}
}

// ping tells the server that the clients are there. The answer to a ping with nudge makes a client sync.
func (l *load) ping(request uint64) {
	for _, c := range l.clients {
		if err := c.ask(&gatewayv1.ClientFrame{Request: request, Ping: &gatewayv1.Ping{}}); err != nil {
			l.fail(err)
		}
	}
}

// settle waits until all is acknowledged and delivered. What a push may lose, the last one above all, is then synced.
func (l *load) settle(ctx context.Context) {
	if l.quiet(ctx, l.config.drain/2) {
		return
	}
	l.deploy.progress("something is still missing; syncing")
	l.ping(nudge)
	l.quiet(ctx, l.config.drain/2)
}

// quiet waits until nothing is missing, at most so long.
func (l *load) quiet(ctx context.Context, most time.Duration) bool {
	end := time.Now().Add(most)
	for ctx.Err() == nil && time.Now().Before(end) && l.failure() == nil {
		waiting := 0
		for _, c := range l.clients {
			c.writes.Lock()
			waiting += c.waiting
			c.writes.Unlock()
		}
		if waiting == 0 && l.delivered() >= l.expected() {
			return true
		}
		pause(ctx, 20*time.Millisecond)
	}
	return false
}
