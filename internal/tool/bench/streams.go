package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/backoff"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
	"google.golang.org/protobuf/proto"
)

// Streams show what messages cost that grow: bots write them in parts, as bots before language models do, while their readers are connected. The same load runs
// without them first, so that the two are measured in one run.

const (
	// streamsPerBot is how many messages a user may write at once on a node (streamed_messages.max_per_user), and how many parts a call has.
	streamsPerBot = 100
	// maxStreams bounds the bots and their conversations.
	maxStreams = 10_000
	// A message has a part each partEvery, and streamParts of them.
	partEvery   = 200 * time.Millisecond
	streamParts = 60
	// writerPatience is how long a bot repeats a call.
	writerPatience = 30 * time.Second
)

// streamsResult compares the load beside growing messages with the load before them.
type streamsResult struct {
	Streams int `json:"streams"`
	// Parts that were written, frames with parts that readers were pushed, and messages that ended, whole.
	Parts  uint64 `json:"parts"`
	Pushes uint64 `json:"pushes"`
	Ended  uint64 `json:"ended"`
	// Broken messages are marked as broken off, or have another text than was written.
	Broken           uint64  `json:"broken"`
	QuietAckP99      float64 `json:"quiet_ack_p99_ms"`
	QuietDeliveryP50 float64 `json:"quiet_delivery_p50_ms"`
	QuietDeliveryP99 float64 `json:"quiet_delivery_p99_ms"`
	// Ratios of the delivery times.
	RatioP50 float64 `json:"delivery_p50_ratio"`
	RatioP99 float64 `json:"delivery_p99_ratio"`
	// QuietServerCPU is the server's CPU seconds for each million acknowledged messages before.
	QuietServerCPU float64 `json:"quiet_server_cpu_s_per_million"`
	Passed         bool    `json:"passed"`
}

func (s *streamsResult) print(out io.Writer) {
	fmt.Fprintf(out, "streams       %d messages at once: %d parts, %d pushes, %d ended, %d broken; before them delivery p50 %.2f ms (ratio %.2f), p99 %.2f ms (ratio %.2f), acknowledged p99 %.2f ms, server CPU %.1f s per million\n",
		s.Streams, s.Parts, s.Pushes, s.Ended, s.Broken, s.QuietDeliveryP50, s.RatioP50, s.QuietDeliveryP99, s.RatioP99, s.QuietAckP99, s.QuietServerCPU)
}

// writer is a bot that writes a message in each of its conversations.
type writer struct {
	user     *user
	messages []*streamedMessage
	result   *streamsResult // its own counts
	offset   time.Duration  // of its parts in each partEvery: bots do not write at the same moment
}

// streamedMessage is a message that is written in parts. The next one of the conversation follows it.
type streamedMessage struct {
	conversation uint64
	number       int // of messages before it in the conversation
	seq          uint64
	text         strings.Builder
	parts        int
}

// measureStreams measures the load beside growing messages. Its clients are connected.
func (l *load) measureStreams(ctx context.Context, baseline *result) (*result, error) {
	d := newDeployment(l.config.url, l.config.key, l.deploy.printer)
	writers, readers, err := d.newWriters(ctx, l.config.streams)
	if err != nil {
		return nil, err
	}
	s := &streamsResult{Streams: l.config.streams, QuietAckP99: baseline.AckP99, QuietDeliveryP50: baseline.DeliveryP50, QuietDeliveryP99: baseline.DeliveryP99, QuietServerCPU: baseline.ServerCPU}
	pushes, hangUp, err := d.readStreams(ctx, readers)
	if err != nil {
		return nil, err
	}
	defer hangUp()
	if err := writeAll(ctx, writers, (*writer).start); err != nil {
		return nil, err
	}
	writing, stop := context.WithCancel(ctx)
	defer stop()
	var failed error
	done := make(chan struct{})
	go func() { // ends with the measurement
		defer close(done)
		failed = writeAll(ctx, writers, func(w *writer, ctx context.Context) error { return w.write(ctx, writing) })
	}()
	r, err := l.measure(ctx)
	stop()
	<-done
	if err := errors.Join(err, failed); err != nil {
		return r, err
	}
	if err := writeAll(ctx, writers, (*writer).endAll); err != nil {
		return r, err
	}
	for _, w := range writers {
		s.Parts, s.Ended, s.Broken = s.Parts+w.result.Parts, s.Ended+w.result.Ended, s.Broken+w.result.Broken
	}
	s.Pushes = pushes.Load()
	s.Passed = baseline.passed() && s.Broken == 0 && s.Ended > 0
	if s.QuietDeliveryP50 > 0 && s.QuietDeliveryP99 > 0 {
		s.RatioP50, s.RatioP99 = r.DeliveryP50/s.QuietDeliveryP50, r.DeliveryP99/s.QuietDeliveryP99
	}
	r.Streams = s
	return r, nil
}

// newWriters creates bots, each with a conversation with each reader.
func (d *deployment) newWriters(ctx context.Context, streams int) ([]*writer, []*user, error) {
	bots, count := (streams+streamsPerBot-1)/streamsPerBot, min(streams, streamsPerBot)
	users, err := d.users(ctx, bots+count, 1)
	if err != nil {
		return nil, nil, err
	}
	d.progress("opening %d conversations of %d bots", streams, bots)
	writers := make([]*writer, bots)
	for i := range writers {
		of := min(streams-i*streamsPerBot, streamsPerBot)
		writers[i] = &writer{user: users[i], messages: make([]*streamedMessage, of), result: &streamsResult{}, offset: partEvery * time.Duration(i) / time.Duration(bots)}
	}
	err = each(ctx, streams, 16, func(ctx context.Context, i int) error {
		w := writers[i/streamsPerBot]
		v, err := d.pair(ctx, w.user, users[bots+i%streamsPerBot])
		if err != nil {
			return err
		}
		w.messages[i%streamsPerBot] = &streamedMessage{conversation: v.Id}
		return nil
	})
	return writers, users[bots:], err
}

// writeAll calls do for all bots at once.
func writeAll(ctx context.Context, writers []*writer, do func(w *writer, ctx context.Context) error) error {
	return each(ctx, len(writers), len(writers), func(ctx context.Context, i int) error { return do(writers[i], ctx) })
}

// readStreams connects the readers, and counts the parts that they are pushed until hangUp.
func (d *deployment) readStreams(ctx context.Context, readers []*user) (pushes *atomic.Uint64, hangUp func(), err error) {
	reading, stop := context.WithCancel(ctx)
	var group sync.WaitGroup
	hangUp = func() {
		stop()
		group.Wait()
	}
	pushes = &atomic.Uint64{}
	err = each(ctx, len(readers), 16, func(ctx context.Context, i int) error {
		sock, err := dial(ctx, readers[i].endpoint.url, readers[i].sessions[0].AccessToken, nil, 4<<10)
		if err != nil {
			return err
		}
		if _, err := readHello(sock); err != nil {
			_ = sock.close() // the first error is reported
			return err
		}
		group.Go(func() { countParts(reading, sock, pushes) })
		return nil
	})
	if err != nil {
		hangUp()
	}
	return pushes, hangUp, err
}

// countParts reads a socket until ctx ends, or the connection does.
func countParts(ctx context.Context, sock *socket, pushes *atomic.Uint64) {
	var pings sync.WaitGroup
	defer pings.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer context.AfterFunc(ctx, func() { _ = sock.close() })() // ends reading
	pings.Go(func() { ping(ctx, sock) })
	for {
		p, err := sock.next()
		if err != nil {
			return
		}
		var f gatewayv1.ServerFrame
		if proto.Unmarshal(p, &f) != nil {
			return
		}
		for _, t := range f.Streamed {
			if t.Text != "" {
				pushes.Add(1)
			}
		}
	}
}

// start starts a message in each conversation.
func (w *writer) start(ctx context.Context) error {
	for i, m := range w.messages {
		if err := w.next(ctx, m); err != nil {
			return err
		}
		m.parts = i * streamParts / len(w.messages) // they end one after the other
	}
	return nil
}

// next starts the next message of a conversation.
func (w *writer) next(ctx context.Context, m *streamedMessage) error {
	r, err := repeated(ctx, w, w.user.endpoint.chat.StartStreamedMessage, &chatv1.StartStreamedMessageRequest{Conversation: m.conversation, ClientMsgId: fmt.Sprint("grown-", m.number)})
	if err != nil {
		return fmt.Errorf("starting a streamed message: %w", err)
	}
	m.seq, m.parts, m.number = r.Seq, 0, m.number+1
	m.text.Reset()
	return nil
}

// repeated makes a call of a bot, and repeats it while no server can answer: all calls about messages that grow may be repeated.
func repeated[T, R any](ctx context.Context, w *writer, call func(context.Context, *connect.Request[T]) (*connect.Response[R], error), m *T) (*R, error) {
	for wait, began := firstCallWait, time.Now(); ; wait = min(2*wait, longestCallWait) {
		r, err := call(ctx, as(w.token(), m))
		if err == nil {
			return r.Msg, nil
		}
		if !isTemporary(err) || time.Since(began) > writerPatience || backoff.Sleep(ctx, rand.N(wait)) != nil {
			return nil, err
		}
	}
}

func (w *writer) token() string { return w.user.sessions[0].AccessToken }

// write adds a part to each message, again and again, until writing ends.
func (w *writer) write(ctx, writing context.Context) error {
	for begin, n := time.Now().Add(w.offset), 1; backoff.Sleep(writing, time.Until(begin.Add(time.Duration(n)*partEvery))) == nil; n++ {
		q := &chatv1.WriteStreamedMessagesRequest{}
		for _, m := range w.messages {
			text := fmt.Sprintf("word %d of a long answer ", m.parts)
			q.Parts = append(q.Parts, &chatv1.StreamedPart{Conversation: m.conversation, Seq: m.seq, Offset: uint32(m.text.Len()), Text: text})
			m.text.WriteString(text)
			m.parts++
		}
		r, err := repeated(ctx, w, w.user.endpoint.chat.WriteStreamedMessages, q)
		if err != nil {
			return fmt.Errorf("writing streamed messages: %w", err)
		}
		for i, p := range r.Results {
			if p.Reason != "" || p.Ended {
				return fmt.Errorf("a part of a streamed message was refused: %s %s", p.Reason, p.Message)
			}
			w.result.Parts++
			if m := w.messages[i]; m.parts >= streamParts {
				if err := errors.Join(w.end(ctx, m), w.next(ctx, m)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (w *writer) endAll(ctx context.Context) error {
	for _, m := range w.messages {
		if err := w.end(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// end ends a message with the text of its parts, and compares what is stored.
func (w *writer) end(ctx context.Context, m *streamedMessage) error {
	if m.text.Len() == 0 { // nothing was written yet
		return nil
	}
	chat := w.user.endpoint.chat
	r, err := repeated(ctx, w, chat.EndStreamedMessage, &chatv1.EndStreamedMessageRequest{Conversation: m.conversation, Seq: m.seq, Length: uint32(m.text.Len())})
	if err != nil {
		return fmt.Errorf("ending a streamed message: %w", err)
	}
	stored, err := repeated(ctx, w, chat.GetMessages, &chatv1.GetMessagesRequest{Conversation: m.conversation, Seqs: []uint64{m.seq}})
	if err != nil {
		return fmt.Errorf("reading a streamed message: %w", err)
	}
	w.result.Ended++
	if list := stored.Messages; r.BrokenOff != nil || len(list) != 1 || list[0].Content.GetText() != m.text.String() {
		w.result.Broken++
	}
	return nil
}
