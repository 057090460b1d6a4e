package bench

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	neturl "net/url"
	"os"
	"os/signal"
	"slices"
	"sync"
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/progress"
	rialto "github.com/rialto-im/rialto/sdk/go"
)

// awayResult of holding connections while nodes stop and start.
type awayResult struct {
	Clients  int     `json:"clients"`
	Lost     int     `json:"lost"`
	Away     int     `json:"still_away"`
	MedianMs float64 `json:"away_p50_ms"`
	P99Ms    float64 `json:"away_p99_ms"`
	MaxMs    float64 `json:"away_max_ms"`
}

func awayMain(args []string, out, errOut io.Writer) int {
	fs := flag.NewFlagSet("rialto bench away", flag.ContinueOnError)
	fs.SetOutput(errOut)
	url := fs.String("url", "http://127.0.0.1:7070", "the deployment's `URL`, or those of its nodes, separated by commas: each call and connection goes to a random one")
	key := fs.String("api-key", "", "API `key`, which creates users faster than registration")
	clients := fs.Int("clients", 300, "`number` of clients, each of a different user")
	hold := fs.Duration("for", time.Minute, "how long to hold the connections; stop or kill a node meanwhile")
	asJSON := fs.Bool("json", false, "print the result as JSON")
	if code, ok := parse(fs, args); !ok {
		return code
	}
	if *clients < 1 || fs.NArg() > 0 {
		fmt.Fprintln(errOut, "rialto bench away: --clients must be at least 1, without arguments")
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	d := newDeployment(*url, *key, progress.New(errOut))
	r, err := d.away(ctx, *clients, *hold)
	return report(out, errOut, r, err, *asJSON, func() {
		fmt.Fprintf(out, "%d of %d clients lost their connection; they reconnected after %.0f ms (median), %.0f ms (99th percentile), %.0f ms (maximum); %d have not reconnected\n",
			r.Lost, r.Clients, r.MedianMs, r.P99Ms, r.MaxMs, r.Away)
	})
}

// absences measures how long clients had no connection.
type absences struct {
	mu    sync.Mutex // guards all
	since map[int]time.Time
	up    map[int]bool
	took  []time.Duration
}

func (a *absences) changed(client int, online bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	lost, away := a.since[client]
	switch {
	case !online && a.up[client]:
		a.since[client] = time.Now()
	case online && away:
		a.took = append(a.took, time.Since(lost))
		delete(a.since, client)
	}
	a.up[client] = online
}

// online returns the number of connected clients.
func (a *absences) online() (n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, up := range a.up {
		if up {
			n++
		}
	}
	return n
}

// away runs SDK clients, which reconnect by themselves.
func (d *deployment) away(ctx context.Context, clients int, hold time.Duration) (*awayResult, error) {
	d.progress("making %d users", clients)
	users, err := d.users(ctx, clients, 1)
	if err != nil {
		return nil, err
	}
	a := &absences{since: map[int]time.Time{}, up: map[int]bool{}}
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	hosts, err := d.hosts()
	if err != nil {
		return nil, err
	}
	for i := range clients {
		c, err := rialto.New(rialto.Config{URL: d.endpoints[0].url, HTTP: &http.Client{Transport: randomHost{hosts}, Timeout: 30 * time.Second}, Handler: func(e rialto.Event) {
			if e.Online != nil {
				a.changed(i, *e.Online)
			}
		}})
		if err != nil {
			return nil, err
		}
		if err := c.Adopt(users[i].sessions[0]); err != nil {
			return nil, err
		}
		running.Go(func() { _ = c.Run(ctx) }) // it ends with ctx, or is still disconnected at the end
	}
	for end := time.Now().Add(time.Minute); a.online() < clients; _ = backoff.Sleep(ctx, 100*time.Millisecond) {
		if ctx.Err() != nil || time.Now().After(end) {
			return nil, fmt.Errorf("%d of %d clients could not connect", clients-a.online(), clients)
		}
	}
	d.progress("%d clients are connected; stop or kill a node in the next %v", clients, hold)
	_ = backoff.Sleep(ctx, hold)
	if ctx.Err() != nil {
		return nil, errors.New("interrupted")
	}
	return a.result(clients), nil
}

func (a *absences) result(clients int) *awayResult {
	a.mu.Lock()
	defer a.mu.Unlock()
	r := &awayResult{Clients: clients, Lost: len(a.took) + len(a.since), Away: len(a.since)}
	slices.Sort(a.took)
	if n := len(a.took); n > 0 {
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
		r.MedianMs, r.P99Ms, r.MaxMs = ms(a.took[n/2]), ms(a.took[n*99/100]), ms(a.took[n-1])
	}
	return r
}

// hosts returns the hosts of the deployment's addresses.
func (d *deployment) hosts() (list []string, err error) {
	for _, e := range d.endpoints {
		u, err := neturl.Parse(e.url)
		if err != nil {
			return nil, err
		}
		list = append(list, u.Host)
	}
	return list, nil
}

// randomHost sends each request to a random host, and to the next one if none listens there, like a load balancer.
type randomHost struct{ hosts []string }

// RoundTrip implements http.RoundTripper.
func (b randomHost) RoundTrip(r *http.Request) (answer *http.Response, err error) {
	for _, i := range rand.Perm(len(b.hosts)) {
		to := r.Clone(r.Context())
		to.URL.Host = b.hosts[i]
		if answer, err = http.DefaultTransport.RoundTrip(to); !dialFailed(err) {
			break
		}
		if r.GetBody != nil {
			if r.Body, err = r.GetBody(); err != nil {
				return nil, err
			}
		}
	}
	return answer, err
}

func dialFailed(err error) bool {
	op := (*net.OpError)(nil)
	return errors.As(err, &op) && op.Op == "dial"
}
