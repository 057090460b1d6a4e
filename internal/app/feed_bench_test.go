package app

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
	"github.com/rialto-im/rialto/internal/base/id"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	commentv1 "github.com/rialto-im/rialto/sdk/go/gen/comment/v1"
	engagementv1 "github.com/rialto-im/rialto/sdk/go/gen/engagement/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/engagement/v1/engagementv1connect"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
	"github.com/rialto-im/rialto/sdk/go/gen/feed/v1/feedv1connect"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/proto"
)

// benchNode starts a node in the folder of a benchmark, which is in TMPDIR.
func benchNode(b *testing.B) *Node {
	b.Helper()
	n, err := Open(b.Context(), configure(b, b.TempDir()), slog.New(slog.DiscardHandler))
	must(b, err)
	b.Cleanup(func() { must(b, n.Close()) })
	return n
}

// benchUsers creates users, each with a session.
func benchUsers(b *testing.B, n *Node, count int) []*accountv1.Session {
	b.Helper()
	list := make([]*accountv1.Session, count)
	for i := range list {
		name := fmt.Sprint("user", i)
		_, err := n.accounts.PutUser(b.Context(), &accountv1.PutUserRequest{ExternalId: name, Handle: name, DisplayName: name})
		must(b, err)
		list[i], err = n.accounts.CreateSession(b.Context(), &accountv1.CreateSessionRequest{ExternalId: name, Client: &accountv1.Client{Type: "test"}})
		must(b, err)
	}
	return list
}

func callerOf(s *accountv1.Session) id.Caller {
	return id.Caller{User: id.User(s.User), Device: id.Device(s.Device), Session: id.Session(s.Session)}
}

func encoded(b *testing.B, m proto.Message) []byte {
	b.Helper()
	raw, err := proto.Marshal(m)
	must(b, err)
	return raw
}

// reportCPU reports the CPU time of each operation, of the whole process. Other processes on the machine change it less than the time.
func reportCPU(b *testing.B) (report func()) {
	used := func() time.Duration {
		var u unix.Rusage
		must(b, unix.Getrusage(unix.RUSAGE_SELF, &u))
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	return func() { b.ReportMetric(float64(used()-before)/float64(b.N), "cpu-ns/op") }
}

// BenchmarkPostPage reads pages of 100 posts, by 100 readers who follow their authors, with what is on them: each post has ten likes, and three comments that
// have likes too. "call" is the same as a socket's call. "row" reads a row of one post by its id.
func BenchmarkPostPage(b *testing.B) {
	n := benchNode(b)
	users := benchUsers(b, n, 110)
	authors, readers := users[:10], users[10:]
	var posts []uint64
	for i := range 100 {
		author := id.User(authors[i%len(authors)].User)
		p, err := n.feed.Publish(b.Context(), author, &feedv1.PublishRequest{ClientPostId: fmt.Sprint(i), Content: &feedv1.PostContent{Text: strings.Repeat("a post of some words ", 10)}})
		must(b, err)
		posts = append(posts, p.Id)
		for k := range 10 {
			must(b, n.engagement.Like(b.Context(), id.User(readers[(i+k)%len(readers)].User), &engagementv1.LikeRequest{Kind: engagementv1.LikeKind_LIKE_KIND_POST, Subject: p.Id}))
		}
		for k := range 3 {
			by := id.User(readers[(i+k)%len(readers)].User)
			c, err := n.comments.CreateComment(b.Context(), by, &commentv1.CreateCommentRequest{ClientCommentId: fmt.Sprint(i, k), SubjectKind: commentv1.SubjectKind_SUBJECT_KIND_POST, Subject: p.Id,
				Content: &commentv1.CommentContent{Text: "a comment of some words"}})
			must(b, err)
			must(b, n.engagement.Like(b.Context(), by, &engagementv1.LikeRequest{Kind: engagementv1.LikeKind_LIKE_KIND_COMMENT, Subject: c.Id}))
		}
	}
	for _, r := range readers {
		for _, a := range authors {
			_, err := n.accounts.SetFollow(b.Context(), id.User(r.User), id.User(a.User), true)
			must(b, err)
		}
	}
	b.Run("row", func(b *testing.B) {
		defer reportCPU(b)()
		for i := 0; b.Loop(); i++ {
			var author int64
			must(b, n.db.Read().QueryRowContext(b.Context(), `SELECT author FROM feed_posts WHERE id = $1`, int64(posts[i%len(posts)])).Scan(&author))
		}
	})
	complete := func(b *testing.B, p *feedv1.PostPage) {
		if p.Post.GetLikes() != 10 || p.Post.Comments != 3 || len(p.Comments) != 3 || p.Comments[0].Likes != 1 || !p.Relation.GetFollowing() || p.Author == nil || len(p.Missing) > 0 {
			b.Fatalf("the page is %v", p)
		}
	}
	b.Run("page", func(b *testing.B) {
		defer reportCPU(b)()
		for i := 0; b.Loop(); i++ {
			p, err := n.details.PostPage(b.Context(), id.User(readers[i%len(readers)].User), &feedv1.GetPostPageRequest{Post: posts[i/7%len(posts)]})
			must(b, err)
			complete(b, p)
		}
	})
	b.Run("call", func(b *testing.B) {
		defer reportCPU(b)()
		for i := 0; b.Loop(); i++ {
			_, err := n.rpc.Invoke(b.Context(), callerOf(readers[i%len(readers)]), feedv1connect.FeedServiceGetPostPageProcedure, encoded(b, &feedv1.GetPostPageRequest{Post: posts[i/7%len(posts)]}), false)
			must(b, err)
		}
	})
}

// benchSocket is a connection of one user, which makes one call at a time.
type benchSocket struct {
	net.Conn
	in    io.ReadWriter
	calls uint64
}

func dialBench(b *testing.B, n *Node, token string) *benchSocket {
	b.Helper()
	d := ws.Dialer{Protocols: []string{"rialto.v1.proto"}, Header: ws.HandshakeHeaderHTTP(http.Header{"Authorization": {"Bearer " + token}})}
	c, ahead, _, err := d.Dial(b.Context(), "ws"+strings.TrimPrefix(url(n), "http")+"/v1/socket")
	must(b, err)
	b.Cleanup(func() { _ = c.Close() }) // the node may have closed it
	if ahead == nil {
		ahead = bufio.NewReader(c)
	}
	return &benchSocket{Conn: c, in: struct {
		io.Reader
		io.Writer
	}{ahead, c}}
}

// call makes a call, and returns its answer.
func (s *benchSocket) call(method string, payload []byte) (*gatewayv1.ServerFrame, error) {
	s.calls++
	frame, err := proto.Marshal(&gatewayv1.ClientFrame{Request: s.calls, Call: &gatewayv1.Call{Method: method, Payload: payload}})
	if err == nil {
		err = wsutil.WriteClientBinary(s.Conn, frame)
	}
	for err == nil {
		var in []byte
		if in, err = wsutil.ReadServerBinary(s.in); err != nil {
			break
		}
		f := &gatewayv1.ServerFrame{}
		if err = proto.Unmarshal(in, f); err == nil && f.Request == s.calls {
			return f, nil
		}
	}
	return nil, err
}

// BenchmarkLikes: 200 users like one post and take it back, each on a connection of its own, and each call after the answer of the one before. "nothing" makes calls
// of the same size that are refused. "batches" commits 200 bare rows at a time.
func BenchmarkLikes(b *testing.B) {
	n := benchNode(b)
	users := benchUsers(b, n, 200)
	p, err := n.feed.Publish(b.Context(), id.User(users[0].User), &feedv1.PublishRequest{ClientPostId: "p", Content: &feedv1.PostContent{Text: "a post"}})
	must(b, err)
	sockets := make([]*benchSocket, len(users))
	for i, u := range users {
		sockets[i] = dialBench(b, n, u.AccessToken)
	}
	like := encoded(b, &engagementv1.LikeRequest{Kind: engagementv1.LikeKind_LIKE_KIND_POST, Subject: p.Id}) // that of Unlike has the same form
	run := func(b *testing.B, likes, unlikes string, answered func(*gatewayv1.ServerFrame) bool) {
		defer reportCPU(b)()
		var group sync.WaitGroup
		for i, s := range sockets {
			group.Go(func() {
				for k := i; k < b.N; k += len(sockets) {
					method := likes
					if k/len(sockets)%2 == 1 {
						method = unlikes
					}
					f, err := s.call(method, like)
					if err != nil || !answered(f) {
						b.Errorf("the answer to a like is %v, %v", f, err)
						return
					}
				}
			})
		}
		group.Wait()
		b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "answers/s")
	}
	b.Run("batches", func(b *testing.B) { bareBatches(b, n, len(users)) })
	b.Run("nothing", func(b *testing.B) {
		run(b, "/rialto.engagement.v1.EngagementService/None", "/rialto.engagement.v1.EngagementService/Nothing", func(f *gatewayv1.ServerFrame) bool { return f.Error.GetReason() == "no_method" })
	})
	b.Run("like", func(b *testing.B) {
		before := n.counters.Transactions()
		run(b, engagementv1connect.EngagementServiceLikeProcedure, engagementv1connect.EngagementServiceUnlikeProcedure, func(f *gatewayv1.ServerFrame) bool { return f.Error == nil })
		b.ReportMetric(float64(b.N)/float64(n.counters.Transactions()-before), "answers/transaction")
	})
}

// bareBatches commits rows, some in a transaction.
func bareBatches(b *testing.B, n *Node, size int) {
	defer reportCPU(b)()
	ctx, row := context.Background(), int64(time.Now().UnixNano())
	must(b, n.db.Write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS bare (n BIGINT PRIMARY KEY, at_ms BIGINT)`)
		return err
	}))
	b.ResetTimer()
	for done := 0; done < b.N; done += size {
		must(b, n.db.Write(ctx, func(tx *sql.Tx) error {
			for range min(size, b.N-done) {
				row++
				if _, err := tx.ExecContext(ctx, `INSERT INTO bare (n, at_ms) VALUES ($1, $2)`, row, row); err != nil {
					return err
				}
			}
			return nil
		}))
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "answers/s")
}
