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
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/progress"
)

// idleResult of holding connections.
type idleResult struct {
	Protocol    string  `json:"protocol"`
	Connections int     `json:"connections"`
	Users       int     `json:"users"`
	BeforeKB    float64 `json:"rss_before_kb"`
	AfterKB     float64 `json:"rss_after_kb"`
	KBEach      float64 `json:"kb_per_connection"`
}

func idleMain(args []string, out, errOut io.Writer) int {
	fs := flag.NewFlagSet("rialto bench idle", flag.ContinueOnError)
	fs.SetOutput(errOut)
	url := fs.String("url", "http://127.0.0.1:7070", "the deployment's `URL`")
	key := fs.String("api-key", "", "API `key`, which creates users faster than registration")
	count := fs.Int("connections", 1000, "`number` of connections, each of a different user")
	protocol := fs.String("protocol", protocolWS, "how clients connect: `ws`, ws-json, tcp, stomp, sse or poll; tcp and stomp need --sockets")
	sockets := fs.String("sockets", "", "with --protocol tcp or stomp: `HOST:PORT` of its listener")
	hold := fs.Duration("hold", 10*time.Second, "how long to hold them before the memory is read")
	pid := fs.String("pid", "", "the server's process id; by default, the process on this machine that listens on the URL's port")
	asJSON := fs.Bool("json", false, "print the result as JSON")
	if code, ok := parse(fs, args); !ok {
		return code
	}
	if *count < 1 || fs.NArg() > 0 {
		fmt.Fprintln(errOut, "rialto bench idle: --connections must be at least 1, without arguments")
		return 2
	}
	if err := checkProtocol(*protocol, *sockets, *url); err != nil {
		fmt.Fprintln(errOut, err)
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	d := newDeployment(*url, *key, progress.New(errOut))
	if *pid == "" {
		*pid = listener(*url)
	}
	r, err := d.idle(ctx, newDialer(*protocol, *sockets, *count), *count, *hold, *pid)
	return report(out, errOut, r, err, *asJSON, func() {
		fmt.Fprintf(out, "%d idle connections (%s): the server's memory grew from %.0f to %.0f KB, %.2f KB for each connection\n", r.Connections, r.Protocol, r.BeforeKB, r.AfterKB, r.KBEach)
	})
}

func (d *deployment) idle(ctx context.Context, dialer *dialer, count int, hold time.Duration, pid string) (*idleResult, error) {
	if pid == "" {
		return nil, errors.New("no server on this machine listens on the URL's port; use --pid")
	}
	d.progress("making %d users", count)
	users, err := d.users(ctx, count, 1)
	if err != nil {
		return nil, err
	}
	d.http.CloseIdleConnections()
	_ = backoff.Sleep(ctx, hold) // let the server release memory that creating users needed
	r := &idleResult{Protocol: dialer.protocol, Connections: count, Users: count}
	if r.BeforeKB, err = residentKB(pid); err != nil {
		return nil, err
	}
	d.progress("opening %d connections", count)
	if err := d.hold(ctx, dialer, users, hold, func() error {
		r.AfterKB, err = residentKB(pid)
		return err
	}); err != nil {
		return nil, err
	}
	r.KBEach = (r.AfterKB - r.BeforeKB) / float64(count)
	return r, ctx.Err()
}

// held are open connections on which nothing is sent but pings.
type held struct {
	mu   sync.Mutex // guards list
	list []connection
}

// add adds a connection.
func (h *held) add(c connection) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.list = append(h.list, c)
}

// each calls do for the connections so far.
func (h *held) each(do func(c connection)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.list {
		do(c)
	}
}

// hold opens a connection for each user, keeps all open for a time, and then measures. It fails if one is lost.
func (d *deployment) hold(ctx context.Context, dialer *dialer, users []*user, hold time.Duration, measure func() error) error {
	ctx, lost := context.WithCancelCause(ctx)
	var open held
	var group sync.WaitGroup
	defer group.Wait()
	defer open.each(func(c connection) { _ = c.close() }) // it may be closed already
	defer lost(nil)
	group.Go(func() {
		for backoff.Sleep(ctx, pingInterval) == nil {
			open.each(func(c connection) { _ = c.write(pingFrame) }) // reading fails as well
		}
	})
	err := each(ctx, len(users), 16, func(ctx context.Context, i int) error {
		to := destination{endpoint: d.endpoints[0], token: users[i].sessions[0].AccessToken, from: net.IPv4(127, 0, 0, byte(1+i/20_000)), buffer: 256}
		c, err := openPatiently(ctx, func() (connection, error) { return greeted(dialer.open(ctx, to)) })
		if err != nil {
			return err
		}
		open.add(c)
		group.Go(func() {
			for {
				if _, err := c.next(); err != nil {
					lost(fmt.Errorf("a connection was lost: %w", err))
					return
				}
			}
		})
		return nil
	})
	if err != nil {
		return err
	}
	d.progress("holding them for %v", hold)
	if err := backoff.Sleep(ctx, hold); err != nil {
		return context.Cause(ctx)
	}
	return measure()
}

// greeted returns a connection that was opened and has read its Hello.
func greeted(c connection, err error) (connection, error) {
	if err != nil {
		return nil, err
	}
	if _, err := readHello(c); err != nil {
		_ = c.close() // the first error is the cause
		return nil, err
	}
	return c, nil
}

// idlePatience is how long a connection is tried again that the server refuses for a time.
const idlePatience = 2 * time.Minute

// openPatiently opens a connection. If the server refuses it for a time, it tries again after that, as the clients of other loads do.
func openPatiently(ctx context.Context, open func() (connection, error)) (connection, error) {
	began := time.Now()
	for wait := firstWait; ; wait = min(2*wait, longestWait) {
		c, err := open()
		if lost := (*lostError)(nil); err == nil || !errors.As(err, &lost) || time.Since(began) > idlePatience || backoff.Sleep(ctx, max(lost.retry, backoff.Spread(0, wait))) != nil {
			return c, err
		}
	}
}

// residentKB of a process.
func residentKB(pid string) (float64, error) {
	b, err := os.ReadFile("/proc/" + pid + "/status")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if f := strings.Fields(line); len(f) == 3 && f[0] == "VmRSS:" {
			return strconv.ParseFloat(f[1], 64)
		}
	}
	return 0, errors.New("the process's memory cannot be read")
}
