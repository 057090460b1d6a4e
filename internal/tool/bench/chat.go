package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/progress"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

var errReset = errors.New("the server could not return the complete stream (reset)")

// load is one run.
type load struct {
	config        chatConfig
	deploy        *deployment
	dialer        *dialer
	corpus        corpus
	clients       []*client
	conversations []*conversation
	readers       sync.WaitGroup
	stop          context.CancelFunc // ends the readers
	outages       outages
	phases
}

func chatMain(args []string, out, errOut io.Writer) int {
	var c chatConfig
	if code, ok := c.parse(args, errOut); !ok {
		return code
	}
	debug.SetGCPercent(400)
	printer := progress.New(errOut)
	l := &load{config: c, deploy: newDeployment(c.url, c.key, printer)}
	l.deploy.patience = c.patience
	ctx, stop := l.withInterrupts(context.Background(), l.sayInterrupted)
	defer stop()
	r, err := l.run(ctx)
	code := report(out, errOut, r, err, c.json, func() { r.print(out) })
	if err == nil && !r.passed() {
		code = 1
	}
	return code
}

func (l *load) run(ctx context.Context) (*result, error) {
	baseline, err := l.measureBaseline(ctx)
	if err != nil {
		return nil, err
	}
	if err := l.prepareAll(ctx); err != nil {
		return nil, err
	}
	l.startReading(ctx)
	defer l.disconnectAll()
	if l.config.flapping > 0 {
		return l.measureFlapping(ctx, baseline)
	}
	if l.config.streams > 0 {
		return l.measureStreams(ctx, baseline)
	}
	before, err := l.newOthers(ctx)
	if err != nil {
		return nil, err
	}
	quiet, err := runOthers(ctx, before, func() {})
	if err != nil {
		return nil, err
	}
	others, err := l.newOthers(ctx)
	if err != nil {
		return nil, err
	}
	var r *result
	var failed error
	beside, err := runOthers(ctx, others, func() { r, failed = l.measure(ctx) })
	if r != nil {
		r.Others = l.compareOthers(quiet, beside)
	}
	return r, errors.Join(failed, err)
}

// prepareAll prepares everything up to the first message.
func (l *load) prepareAll(ctx context.Context) (err error) {
	var source string
	if l.corpus, source, err = newCorpus(l.config.text, l.config.bytes, l.config.seed); err != nil {
		return err
	}
	l.deploy.progress("text from %s", source)
	return l.prepare(ctx)
}

// startReading has all clients read, until disconnectAll.
func (l *load) startReading(ctx context.Context) {
	reading, stop := context.WithCancel(ctx)
	l.stop = stop
	for _, c := range l.clients {
		l.outages.connected()
		l.readers.Go(func() { l.read(reading, c) })
	}
	l.readers.Go(func() { l.watch(reading) })
}

// measure sends and checks.
func (l *load) measure(ctx context.Context) (*result, error) {
	if l.stop == nil {
		l.startReading(ctx)
		defer l.disconnectAll()
	}
	l.deploy.progress("%d connections in %d conversations; sending for %v", len(l.clients), len(l.conversations), l.config.duration)
	cpu := serverCPU(urls(l.config.url))
	begin := time.Now()
	l.send(ctx)
	took := time.Since(begin)
	acked, delivered := l.acked(), l.delivered()
	l.settle(ctx)
	r := l.result(took, acked, delivered)
	if err := l.failure(); err != nil {
		return r, err
	}
	if l.config.history || r.Reconnects > 0 {
		if err := l.checkHistories(ctx, r); err != nil {
			return r, err
		}
	}
	if cpu != nil && r.Acked > 0 {
		r.ServerCPU = cpu() * 1e6 / float64(r.Acked)
	}
	return r, l.failure()
}

func (l *load) sayInterrupted() { l.deploy.progress("interrupted; checking what was sent") }

// prepare creates users, conversations and connections.
func (l *load) prepare(ctx context.Context) error {
	c, d := &l.config, l.deploy
	count := 2*c.pairs + c.groups*c.size
	d.progress("making %d users", count)
	users, err := d.users(ctx, count, c.devices)
	if err != nil {
		return err
	}
	d.progress("opening %d conversations", c.pairs+c.groups)
	l.conversations = make([]*conversation, c.pairs+c.groups)
	err = each(ctx, len(l.conversations), 16, func(ctx context.Context, i int) error {
		if i < c.pairs {
			v, err := d.pair(ctx, users[2*i], users[2*i+1])
			if err != nil {
				return err
			}
			l.conversations[i] = &conversation{id: v.Id, base: v.LastSeq}
			return nil
		}
		at := 2*c.pairs + (i-c.pairs)*c.size
		v, err := l.group(ctx, users[at:at+c.size], i-c.pairs)
		if err != nil {
			return err
		}
		l.conversations[i] = &conversation{id: v.Id, base: v.LastSeq, large: v.Large}
		return nil
	})
	if err != nil {
		return err
	}
	// Groups become large, and connections follow them, shortly after the invitations are answered.
	return l.connectAll(ctx, users)
}

// connectAll opens the connections of all users.
func (l *load) connectAll(ctx context.Context, users []*user) error {
	c, count := &l.config, len(users)
	l.deploy.progress("opening %d connections", count*c.devices)
	l.clients = make([]*client, count*c.devices)
	l.dialer = newDialer(c.protocol, c.sockets, len(l.clients))
	slots := 1024 // for messages of a sender that have no receipt
	if c.rate > 0 {
		slots = max(64, min(1<<16, 1<<23/len(l.clients)))
	}
	err := each(ctx, len(l.clients), 32, func(ctx context.Context, i int) error {
		u := i / c.devices
		cl, err := l.connect(ctx, i, users[u], i%c.devices)
		if err != nil {
			return err
		}
		r := l.conversations[min(u/2, c.pairs)%len(l.conversations)]
		writes := c.allDevices || i%c.devices == 0
		sends := writes && (u%2 == 0 || !c.oneWay)
		if u >= 2*c.pairs {
			g := (u - 2*c.pairs) / c.size
			r = l.conversations[c.pairs+g]
			sends = writes && (u-2*c.pairs)%c.size < c.senders
		}
		r.listeners.Add(1)
		s := &receivedConversation{conversation: r, last: r.base, from: map[uint32]*numberSet{}}
		if r.large && (u-2*c.pairs)%c.size >= c.open {
			s.known = &known{}
			s.known.seq.Store(r.base)
			r.listeners.Add(-1)
		}
		cl.conversations[r.id] = s
		if sends {
			cl.to = r
			r.listeners.Add(-1)
			cl.inFlight = make([]time.Time, slots)
		}
		l.clients[i] = cl
		return nil
	})
	if err != nil {
		return err
	}
	for _, cl := range l.clients {
		if cl.to != nil {
			cl.to.sender = cl // any one of them
		}
	}
	return nil
}

// connect opens one connection and waits for Hello.
func (l *load) connect(ctx context.Context, i int, u *user, device int) (*client, error) {
	at := endpointIndex(i/l.config.devices, device, len(l.deploy.endpoints))
	sock, hello, err := l.openFresh(ctx, uint32(i), u, device, at, 0) // to make many followers takes longer than a token is valid
	if err != nil {
		return nil, err
	}
	c := &client{load: l, sock: sock, number: uint32(i), endpointIndex: at, user: u, device: device, conversations: map[uint64]*receivedConversation{}, pulling: map[uint64]bool{}, position: hello.Tail.GetSeq(), unacked: hello.Tail.GetSeq(), seqBase: hello.ClientSeq}
	return c, nil
}

// open opens connection i to one of the endpoints, and reads Hello. after is the client's position, 0 for the end of the stream.
func (l *load) open(ctx context.Context, i uint32, u *user, device, at int, after uint64) (connection, *gatewayv1.Hello, error) {
	buffer := 32 << 10
	if len(l.clients) > 2000 {
		buffer = 4 << 10
	}
	from := net.IP(nil)
	if len(l.clients) > 20_000 {
		from = net.IPv4(127, 0, 0, byte(2+i/20_000))
	}
	sock, err := l.dialer.open(ctx, destination{l.deploy.endpoints[at], at, u.sessions[device].AccessToken, after, from, buffer})
	if err != nil {
		return nil, nil, err
	}
	err = sock.setDeadline(time.Now().Add(silence))
	hello := (*gatewayv1.Hello)(nil)
	if err == nil {
		hello, err = readHello(sock)
	}
	if err != nil {
		_ = sock.close() // the first error is reported
		return nil, nil, err
	}
	return sock, hello, nil
}

func (l *load) disconnectAll() {
	if l.stop != nil {
		l.stop()
	}
	for _, c := range l.clients {
		if c != nil {
			c.disconnect()
		}
	}
	l.readers.Wait()
}

// send runs the senders for the duration.
func (l *load) send(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, l.config.duration)
	defer cancel()
	l.setEndSending(cancel)
	defer l.setEndSending(nil)
	var senders []*client
	for _, c := range l.clients {
		if c.to != nil {
			senders = append(senders, c)
		}
	}
	start, step := time.Now(), l.deploy.printer.Step("sending")
	defer step.End()
	if l.config.rate > 0 {
		l.pace(ctx, senders, func() { l.reportProgress(step, start) })
	} else {
		for _, c := range senders {
			c.writes.Lock()
			c.send(l.config.window, time.Time{})
			c.writes.Unlock()
		}
		for ctx.Err() == nil && l.failure() == nil {
			l.reportProgress(step, start)
			_ = backoff.Sleep(ctx, 100*time.Millisecond)
		}
	}
	for _, c := range senders {
		c.writes.Lock()
		c.stopped = true
		c.writes.Unlock()
	}
}

// reportProgress reports the progress of sending.
func (l *load) reportProgress(step *progress.Step, start time.Time) {
	up, none, _ := l.outages.state()
	details := fmt.Sprintf("%d acknowledged", l.acked())
	switch {
	case none > 0:
		details += fmt.Sprintf(", no server for %v", none.Round(time.Second))
	case up < len(l.clients):
		details += fmt.Sprintf(", %d of %d connected", up, len(l.clients))
	}
	step.At(time.Since(start).Seconds()/l.config.duration.Seconds(), details)
}

// pace sends at a rate, independent of the answers. Each message has its intended send time.
func (l *load) pace(ctx context.Context, senders []*client, eachRound func()) {
	start, sent, said := time.Now(), 0, time.Time{}
	gap := time.Second / time.Duration(l.config.rate)
	for ctx.Err() == nil && l.failure() == nil {
		now := time.Now()
		if now.Sub(said) > 100*time.Millisecond {
			said = now
			eachRound()
		}
		for due := start.Add(time.Duration(sent) * gap); !due.After(now); due = start.Add(time.Duration(sent) * gap) {
			c := senders[sent%len(senders)]
			sent++
			c.writes.Lock()
			if c.next-c.ackedTo >= uint32(len(c.inFlight)) {
				l.fail(errors.New("the server is so far behind the rate that nothing can be measured; lower --rate"))
			} else {
				c.send(1, due)
			}
			c.writes.Unlock()
		}
		_ = backoff.Sleep(ctx, 200*time.Microsecond)
	}
}

func (l *load) acked() (n uint64) {
	for _, r := range l.conversations {
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

// own counts the messages that senders have received in their own streams.
func (l *load) own() (n uint64) {
	for _, c := range l.clients {
		n += c.own.Load()
	}
	return n
}

// expected deliveries of the acknowledged messages: to every connection that shows the conversation except the sender's.
func (l *load) expected() (n uint64) {
	in := map[*conversation]uint64{}
	for _, c := range l.clients {
		for _, s := range c.conversations {
			if s.known == nil {
				in[s.conversation]++
			}
		}
	}
	for r, k := range in {
		n += r.acked.Load() * k
	}
	return n - l.ownExpected()
}

// ownExpected counts the acknowledged messages of senders who show their conversations.
func (l *load) ownExpected() (n uint64) {
	for _, c := range l.clients {
		if c.to != nil && c.conversations[c.to.id].known == nil {
			c.writes.Lock()
			n += c.acked.count()
			c.writes.Unlock()
		}
	}
	return n
}

// syncAll has all clients sync, each when it gets the answer to a ping.
func (l *load) syncAll() {
	for _, c := range l.clients {
		if err := c.writeFrame(&gatewayv1.ClientFrame{Request: syncPing, Ping: &gatewayv1.Ping{}}); err != nil {
			l.fail(err)
		}
	}
}

// settle waits until everything is acknowledged and delivered. Clients then sync, because the last push may have been lost.
func (l *load) settle(ctx context.Context) {
	// Disconnected clients reconnect first, limited by --patience and their backoff.
	for end := time.Now().Add(l.config.patience + longestWait); time.Now().Before(end) && ctx.Err() == nil && l.failure() == nil; _ = backoff.Sleep(ctx, 20*time.Millisecond) {
		if up, _, _ := l.outages.state(); up == len(l.clients) {
			break
		}
	}
	if l.awaitDeliveries(ctx, l.config.drain/2) {
		return
	}
	l.deploy.progress("deliveries are missing; syncing")
	l.syncAll()
	l.awaitDeliveries(ctx, l.config.drain/2)
}

// awaitDeliveries waits until nothing is missing, at most for some time without any delivery: a slow server is late, and loses nothing.
func (l *load) awaitDeliveries(ctx context.Context, most time.Duration) bool {
	arrived, end := uint64(0), time.Now().Add(most)
	for ctx.Err() == nil && time.Now().Before(end) && l.failure() == nil {
		waiting := 0
		for _, c := range l.clients {
			c.writes.Lock()
			waiting += c.waiting
			c.writes.Unlock()
		}
		if waiting == 0 && l.delivered() >= l.expected() && l.own() >= l.ownExpected() && l.knows() {
			return true
		}
		if n := l.delivered() + l.own(); n > arrived {
			arrived, end = n, time.Now().Add(most)
		}
		_ = backoff.Sleep(ctx, 20*time.Millisecond)
	}
	return false
}
