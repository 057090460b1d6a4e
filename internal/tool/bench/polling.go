package bench

import (
	"net/http"

	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	gatewayv1 "github.com/rialto-im/rialto/sdk/go/gen/gateway/v1"
)

// polling receives by syncs that wait at the server.
type polling struct {
	*calls
	after uint64
	large []*chatv1.LargeTail // how far the large groups are, as the server said last
}

// pollTime is how long a sync waits, in milliseconds: as long as a server lets it.
const pollTime = 25_000

func newPolling(client *http.Client, to destination) *polling {
	p := &polling{calls: newCalls(client, to), after: to.after}
	p.running.Go(func() { p.end(p.poll()) })
	return p
}

// poll delivers Hello, and then what each sync answers.
func (p *polling) poll() error {
	if p.after == 0 { // the end of the stream is where the last page ends
		for more := true; more; {
			page, err := p.chat.Sync(p.ctx, as(p.token, &chatv1.SyncRequest{After: p.position(), Limit: 2000}))
			if err != nil {
				return lostCall(err)
			}
			p.after, p.large, more = page.Msg.Next.GetSeq(), page.Msg.Large, page.Msg.More
		}
	}
	if err := p.deliver(&gatewayv1.ServerFrame{Hello: &gatewayv1.Hello{Tail: p.position()}}); err != nil {
		return err
	}
	for {
		page, err := p.chat.Sync(p.ctx, as(p.token, &chatv1.SyncRequest{After: p.position(), Limit: 2000, WaitMs: pollTime, Large: p.large}))
		if err != nil {
			return lostCall(err)
		}
		if page.Msg.Reset_ {
			return errReset
		}
		f := &gatewayv1.ServerFrame{Events: page.Msg.Events}
		if len(page.Msg.Large) > 0 {
			p.large, f.Hint = page.Msg.Large, &gatewayv1.Hint{Conversations: page.Msg.Large}
		}
		p.after = page.Msg.Next.GetSeq()
		if err := p.deliver(f); err != nil {
			return err
		}
	}
}

func (p *polling) position() *chatv1.Position {
	return &chatv1.Position{Epoch: uint32(p.after >> 32), Seq: p.after}
}
