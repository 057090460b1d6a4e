package chaos

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"

	"github.com/rialto-im/rialto/internal/engine/blob/s3blob/s3test"
)

// S3 is a private server. Each node uses its own proxy to it. Only one goroutine at a time may inject a fault.
type S3 struct {
	server *s3test.Server
	bucket string

	mu    sync.Mutex // guards links
	links []*Link    // from each node
}

func (e *Engines) openS3(ctx context.Context) error {
	server, err := s3test.Open(ctx)
	if err != nil {
		return err
	}
	e.s3 = &S3{server: server}
	e.s3.bucket, err = server.NewBucket(ctx)
	return err
}

func (s *S3) join(c *Cluster, running context.Context, n *Node) ([]string, error) {
	link := NewLink(n.Name + "-s3")
	front, err := c.proxy(running, func(net.Addr) []Route {
		return []Route{{link, "tcp", strings.TrimPrefix(s.server.Endpoint, "http://")}}
	})
	if err != nil {
		return nil, err
	}
	n.engineLinks = append(n.engineLinks, link)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.links = append(s.links, link)
	return []string{"s3.endpoint=http://" + front.Addr(), "s3.bucket=" + s.bucket, "s3.access_key=" + s.server.AccessKey, "s3.secret_key=" + s.server.SecretKey}, nil
}

func (s *S3) inject(ctx, whole context.Context, f Fault) error {
	switch f.Kind {
	case S3Kill:
		if err := s.server.Kill(); err != nil {
			return err
		}
		pause(ctx, f.Duration)
		return s.server.Restart(whole)
	case S3Pause:
		err := s.server.Pause()
		pause(ctx, f.Duration)
		return errors.Join(err, s.server.Resume())
	default:
		s.mu.Lock()
		links := s.links
		s.mu.Unlock()
		impairWhile(ctx, links, Impairment{Delay: f.Amount / 2, Jitter: f.Amount, Rate: 256 << 10}, f)
		return nil
	}
}
