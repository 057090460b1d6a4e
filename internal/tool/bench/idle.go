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
	"time"

	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/progress"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// idleResult of holding connections.
type idleResult struct {
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
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	d := newDeployment(*url, *key, progress.New(errOut))
	if *pid == "" {
		*pid = listener(*url)
	}
	r, err := d.idle(ctx, *count, *hold, *pid)
	return report(out, errOut, r, err, *asJSON, func() {
		fmt.Fprintf(out, "%d idle connections: the server's memory grew from %.0f to %.0f KB, %.2f KB for each connection\n", r.Connections, r.BeforeKB, r.AfterKB, r.KBEach)
	})
}

func (d *deployment) idle(ctx context.Context, count int, hold time.Duration, pid string) (*idleResult, error) {
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
	r := &idleResult{Connections: count, Users: count}
	if r.BeforeKB, err = residentKB(pid); err != nil {
		return nil, err
	}
	d.progress("opening %d connections", count)
	socks := make([]*socket, count)
	defer func() {
		for _, s := range socks {
			if s != nil {
				_ = s.net.Close() // it may be closed already
			}
		}
	}()
	err = each(ctx, count, 16, func(ctx context.Context, i int) error {
		s, err := dial(ctx, d.endpoints[0].url, users[i].sessions[0].AccessToken, net.IPv4(127, 0, 0, byte(1+i/20_000)), 256)
		if err != nil {
			return err
		}
		socks[i] = s
		_, err = s.next()
		return err
	})
	if err != nil {
		return nil, err
	}
	ping, err := proto.Marshal(&gatewayv1.ClientFrame{Ping: &gatewayv1.Ping{}})
	if err != nil {
		return nil, err
	}
	d.progress("holding them for %v", hold)
	for end := time.Now().Add(hold); time.Now().Before(end) && ctx.Err() == nil; _ = backoff.Sleep(ctx, min(hold, 10*time.Second)) {
		for _, s := range socks {
			if err := s.write(ping); err != nil {
				return nil, err
			}
		}
	}
	if r.AfterKB, err = residentKB(pid); err != nil {
		return nil, err
	}
	r.KBEach = (r.AfterKB - r.BeforeKB) / float64(count)
	return r, ctx.Err()
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
