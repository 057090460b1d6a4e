package chaos

import (
	"context"
	"fmt"
	"time"

	"connectrpc.com/connect"
	accountv1 "github.com/rialto-im/rialto/sdk/go/gen/account/v1"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	feedv1 "github.com/rialto-im/rialto/sdk/go/gen/feed/v1"
)

// FAsk makes a call that the role Text answers, and repeats it until it is answered, as an app does.
const FAsk = "ask"

// askEvery is the mean time between the calls of an app to one role.
const askEvery = 150 * time.Millisecond

// appCall is a call of an app; ready reports whether there is anything to ask for.
type appCall struct {
	role  string
	ready func() bool
	call  func(ctx context.Context) error
}

// appCalls are calls that each role answers. Gateways and workers are checked by messages.
func (t *workload) appCalls() []appCall {
	always := func() bool { return true }
	p, reader := t.chatters[0], t.authors[0]
	calls := []appCall{
		{roleAPI, always, func(ctx context.Context) error {
			_, err := p.caller.Account().GetUsers(ctx, connect.NewRequest(&accountv1.GetUsersRequest{Users: []uint64{p.id}}))
			return err
		}},
		{roleChat, always, func(ctx context.Context) error {
			_, err := p.caller.Chat().History(ctx, connect.NewRequest(&chatv1.HistoryRequest{Conversation: t.hot.id, Limit: 20}))
			return err
		}},
		{roleFeed, always, func(ctx context.Context) error {
			_, err := reader.caller.Feed().HomeTimeline(ctx, connect.NewRequest(&feedv1.HomeTimelineRequest{Limit: pageLimit}))
			return err
		}},
	}
	if len(t.filers) == 0 {
		return calls
	}
	return append(calls, appCall{roleEdge, func() bool { return len(t.sentFiles.All()) > 0 }, func(ctx context.Context) error {
		list := t.sentFiles.All()
		f := list[len(list)-1]
		body, err := t.download(ctx, f)
		if err == nil && sumOf(body) != f.sum {
			err = connect.NewError(connect.CodeDataLoss, fmt.Errorf("the file %d has other bytes than were sent", f.upload))
		}
		return err
	}})
}

// ask makes calls to a role, one after the other. A call that has begun is repeated until it is answered, unless online ends.
func (t *workload) ask(ctx, online context.Context, c appCall) {
	rng := t.rng("asks " + c.role)
	for t.wait(ctx, rng, askEvery) {
		if !c.ready() {
			continue
		}
		e := t.record.Begin(Event{Proc: "asks " + c.role, F: FAsk, Text: c.role})
		err := untilAnswered(online, c.call)
		if err != nil {
			e.Err = err.Error()
		}
		t.record.End(e, outcome(err))
	}
}
