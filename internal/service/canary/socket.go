package canary

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/id"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

const (
	protocol = "rialto.v1.proto"
	// signalType of probes. Their data is the process and the round, 8 bytes each.
	signalType = "rialto/canary"
	// closeAuth is the code with which a node refuses a token.
	closeAuth = 4101

	openTime    = 10 * time.Second // to connect and be greeted
	writeTime   = 5 * time.Second
	firstDelay  = time.Second // before the next attempt to connect
	longDelay   = 15 * time.Second
	maxFrame    = 4 << 20 // bytes
	syncPage    = 200     // events
	silentBeats = 2       // heartbeats without a frame, after which a connection counts as broken
)

// socket is a connection to a node, and its successors when it breaks.
type socket struct {
	service *Service
	target  Target
	caller  id.Caller
	cancel  context.CancelFunc
	// rejected: the node did not accept the session.
	rejected atomic.Bool

	mu   sync.Mutex      // guards conn
	conn *websocket.Conn // nil while none is open

	// The fields below belong to the goroutine that reads.
	position *chatv1.Position // up to where the stream was delivered
	syncing  bool             // a sync is under way
	again    bool             // and another one is needed after it
}

// clientSeqs numbers this device's messages.
type clientSeqs struct {
	mu     sync.Mutex // guards the fields below
	last   uint64
	rounds map[uint64]uint64 // the round of each message without a receipt
}

// next numbers a message. A node may have stored higher numbers of an earlier process.
func (n *clientSeqs) next(round uint64) uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.last++
	n.rounds[n.last] = round
	return n.last
}

// begin continues above what the node has stored. What had no receipt on an earlier connection gets none any more: its rounds are returned.
func (n *clientSeqs) begin(stored uint64) (rounds []uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, r := range n.rounds {
		rounds = append(rounds, r)
	}
	n.last, n.rounds = max(n.last, stored), map[uint64]uint64{}
	return rounds
}

// done returns the round of a message, and forgets it.
func (n *clientSeqs) done(seq uint64) (round uint64, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	round, ok = n.rounds[seq]
	delete(n.rounds, seq)
	return round, ok
}

func (k *socket) isOpen() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.conn != nil
}

// run keeps a connection open until ctx ends, or its session has.
func (k *socket) run(ctx context.Context) {
	delay := backoff.New(firstDelay, longDelay)
	for ctx.Err() == nil && !k.rejected.Load() {
		opened, err := k.converse(ctx)
		k.withdrawUnanswered(0)
		if ctx.Err() != nil {
			return
		}
		k.service.probes.closed(k.target.Node, k)
		k.service.deps.Logger.Info("a socket of the delivery canary was closed, or not opened; it tries again", "target", k.target.Node, "url", k.target.URL, "error", err)
		if opened {
			delay.Reset()
		}
		_ = delay.Wait(ctx) // the loop sees the end of ctx
	}
}

// converse opens a connection and reads from it until it breaks. It reports whether it was opened.
func (k *socket) converse(ctx context.Context) (opened bool, err error) {
	conn, hello, err := k.open(ctx)
	if err != nil {
		return false, err
	}
	defer conn.CloseNow() //nolint:errcheck // it may be closed already
	k.position, k.syncing, k.again = hello.Tail, false, false
	k.withdrawUnanswered(hello.ClientSeq)
	k.service.probes.opened(k.target.Node, k)
	k.setConn(conn)
	defer k.setConn(nil)
	ctx, cancel := context.WithCancel(ctx)
	var pinging sync.WaitGroup
	defer pinging.Wait()
	defer cancel()
	beat := max(time.Duration(hello.HeartbeatMs)*time.Millisecond, time.Second)
	pinging.Go(func() { k.ping(ctx, beat) })
	for {
		f, err := read(ctx, conn, silentBeats*beat+openTime)
		if err == nil {
			err = k.receive(ctx, f, time.Now())
		}
		if err != nil {
			return true, err
		}
	}
}

// withdrawUnanswered forgets the probes without a receipt, which may not be stored, if they were sent through this socket. stored is the highest number that
// the node has stored.
func (k *socket) withdrawUnanswered(stored uint64) {
	if k.target.Node != k.service.deps.Node {
		return
	}
	for _, round := range k.service.clientSeq.begin(stored) {
		k.service.probes.withdraw(round, false)
	}
}

func (k *socket) setConn(c *websocket.Conn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.conn = c
}

// open connects to the node, and reads its Hello.
func (k *socket) open(ctx context.Context) (*websocket.Conn, *gatewayv1.Hello, error) {
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	token, err := k.service.deps.Accounts.CanaryToken(k.caller)
	if err != nil {
		return nil, nil, err
	}
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: tlsConfig(k.target.Fingerprint)}
	conn, response, err := websocket.Dial(ctx, k.target.URL, &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport, CheckRedirect: noRedirect}, Subprotocols: []string{protocol},
		HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
	if err != nil {
		if response != nil && response.StatusCode == http.StatusUnauthorized {
			k.rejected.Store(true)
		}
		return nil, nil, err
	}
	conn.SetReadLimit(maxFrame)
	f, err := read(ctx, conn, openTime)
	switch {
	case err != nil:
	case f.Bye != nil:
		err = k.bye(f.Bye)
	case f.Hello == nil:
		err = errors.New("the first frame is not Hello")
	case f.Hello.Node != k.target.Node:
		err = fmt.Errorf("this address leads to the node %q: public.url must lead to the node itself", f.Hello.Node)
	default:
		return conn, f.Hello, nil
	}
	_ = conn.CloseNow() // the first error is reported
	return nil, nil, err
}

var errRedirect = errors.New("a node does not redirect")

// noRedirect keeps the token from going elsewhere.
func noRedirect(*http.Request, []*http.Request) error { return errRedirect }

// tlsConfig accepts a node's own certificate by its fingerprint. Without one, the certificate must be valid for the address.
func tlsConfig(fingerprint string) *tls.Config {
	if fingerprint == "" {
		return nil
	}
	return &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12, //nolint:gosec // the fingerprint is verified instead
		VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
			if len(raw) == 0 || Fingerprint(raw[0]) != fingerprint {
				return errors.New("this is not the certificate that the node named")
			}
			return nil
		}}
}

// Fingerprint of a certificate in DER: its SHA-256 in hexadecimal.
func Fingerprint(certificate []byte) string {
	sum := sha256.Sum256(certificate)
	return hex.EncodeToString(sum[:])
}

// read reads a frame, which must come within a time.
func read(ctx context.Context, conn *websocket.Conn, within time.Duration) (*gatewayv1.ServerFrame, error) {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	_, b, err := conn.Read(ctx)
	if err != nil {
		return nil, err
	}
	f := &gatewayv1.ServerFrame{}
	return f, proto.Unmarshal(b, f)
}

var errNotOpen = errors.New("the socket is not open")

// write sends a frame on the open connection.
func (k *socket) write(ctx context.Context, f *gatewayv1.ClientFrame) error {
	k.mu.Lock()
	conn := k.conn
	k.mu.Unlock()
	if conn == nil {
		return errNotOpen
	}
	b, err := proto.Marshal(f)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	return conn.Write(ctx, websocket.MessageBinary, b)
}

// ping sends heartbeats until ctx ends, or the connection breaks.
func (k *socket) ping(ctx context.Context, beat time.Duration) {
	for backoff.Sleep(ctx, beat) == nil {
		if k.write(ctx, &gatewayv1.ClientFrame{Ping: &gatewayv1.Ping{}}) != nil {
			return // the reader sees it too
		}
	}
}

// send sends a probe.
func (k *socket) send(ctx context.Context, c id.Conversation, round uint64) error {
	data := binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, k.service.process), round)
	seq := k.service.clientSeq.next(round)
	err := k.write(ctx, &gatewayv1.ClientFrame{Sends: []*gatewayv1.Send{{Conversation: uint64(c), ClientSeq: seq, Content: &chatv1.Content{Kind: &chatv1.Content_Signal{Signal: &chatv1.Custom{Type: signalType, Data: data}}}}}})
	if err != nil {
		k.service.clientSeq.done(seq)
	}
	return err
}

// receive handles a frame.
func (k *socket) receive(ctx context.Context, f *gatewayv1.ServerFrame, at time.Time) error {
	if f.Bye != nil {
		return k.bye(f.Bye)
	}
	for _, r := range f.Receipts {
		round, ok := k.service.clientSeq.done(r.ClientSeq)
		if ok && r.Error != nil {
			k.service.deps.Logger.Info("a probe of the delivery canary was refused", "probe", round, "reason", r.Error.Reason)
			k.service.probes.withdraw(round, true)
		}
	}
	missing := f.Hint != nil
	for _, e := range f.Events {
		if round, ok := k.roundOf(e); ok {
			k.service.probes.arrived(k.target.Node, k, round, at, true)
		}
		missing = !k.follow(e) || missing
	}
	switch {
	case f.Sync != nil:
		k.synced(f.Sync, at)
		missing = missing || k.again || f.Sync.More
	case k.syncing && f.Error != nil:
		return fmt.Errorf("the sync was refused: %s", f.Error.Reason)
	}
	if !missing {
		return nil
	}
	if k.syncing {
		k.again = true
		return nil
	}
	k.syncing, k.again = true, false
	return k.write(ctx, &gatewayv1.ClientFrame{Sync: &chatv1.SyncRequest{After: k.position, Limit: syncPage}})
}

// bye returns the error of a connection that the node ends.
func (k *socket) bye(b *gatewayv1.Bye) error {
	if b.Code == closeAuth {
		k.rejected.Store(true)
	}
	return fmt.Errorf("the node ended the connection: %d %s", b.Code, b.Reason)
}

// follow moves the position to a pushed event. It is false if others before it are missing.
func (k *socket) follow(e *chatv1.Event) bool {
	switch p := k.position; {
	case e.Epoch < p.GetEpoch() || e.Epoch == p.GetEpoch() && e.Seq <= p.GetSeq():
		return true
	case e.Epoch != p.GetEpoch() && p.GetSeq() != 0, e.Prev != p.GetSeq():
		return false
	}
	k.position = &chatv1.Position{Epoch: e.Epoch, Seq: e.Seq}
	return true
}

// synced handles a page of the stream.
func (k *socket) synced(page *chatv1.SyncResponse, at time.Time) {
	k.syncing = false
	for _, e := range page.Events {
		if round, ok := k.roundOf(e); ok {
			k.service.probes.arrived(k.target.Node, k, round, at, false)
		}
	}
	k.position = page.Next
}

// roundOf returns the round of a probe of this process.
func (k *socket) roundOf(e *chatv1.Event) (round uint64, ok bool) {
	s := e.GetMessage().GetContent().GetSignal()
	if s.GetType() != signalType || len(s.GetData()) != 16 || binary.BigEndian.Uint64(s.Data) != k.service.process {
		return 0, false
	}
	return binary.BigEndian.Uint64(s.Data[8:]), true
}
