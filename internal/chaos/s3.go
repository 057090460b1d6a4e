package chaos

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"

	"github.com/rialto-im/rialto/internal/blob/s3blob/s3test"
)

// S3 is a private server, which each node reaches by a proxy of its own. One goroutine at a time may hurt it.
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
	front, err := c.proxy(running, func(net.Addr) []Way { return []Way{{link, "tcp", strings.TrimPrefix(s.server.Endpoint, "http://")}} })
	if err != nil {
		return nil, err
	}
	n.engines = append(n.engines, link)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.links = append(s.links, link)
	return []string{"s3.endpoint=http://" + front.Addr(), "s3.bucket=" + s.bucket, "s3.access_key=" + s.server.AccessKey, "s3.secret_key=" + s.server.SecretKey}, nil
}

func (s *S3) hurt(ctx, whole context.Context, f Fault) error {
	switch f.Kind {
	case S3Away:
		if err := s.server.Kill(); err != nil {
			return err
		}
		pause(ctx, f.For)
		return s.server.Restart(whole)
	case S3Pause:
		err := s.server.Pause()
		pause(ctx, f.For)
		return errors.Join(err, s.server.Resume())
	default:
		s.mu.Lock()
		links := s.links
		s.mu.Unlock()
		troubled(ctx, links, Trouble{Delay: f.Much / 2, Jitter: f.Much, Rate: 256 << 10}, f)
		return nil
	}
}
