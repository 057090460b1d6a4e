package bench

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/backoff"
	"github.com/rialto-im/rialto/internal/base/progress"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
	searchv1 "github.com/rialto-im/rialto/sdk/go/gen/search/v1"
)

// searchLoad is one run of rialto bench search.
type searchLoad struct {
	config searchConfig
	phases
	callers
	model         *searchModel
	conversations []uint64 // by group
	start         time.Time
	sent          atomic.Uint64
	changes       atomic.Uint64
	unfinished    atomic.Uint64 // answers that the index does not have everything yet

	mu        sync.Mutex // guards the fields below
	lag       histogram
	queries   histogram
	faults    searchFaults
	described int
}

func searchMain(args []string, out, errOut io.Writer) int {
	var c searchConfig
	if code, ok := c.parse(args, errOut); !ok {
		return code
	}
	debug.SetGCPercent(400)
	printer := progress.New(errOut)
	l := &searchLoad{config: c, callers: callers{deploy: newDeployment(c.url, c.key, printer)}, start: time.Now()}
	l.deploy.patience = c.patience
	ctx, stop := l.withInterrupts(context.Background(), func() { printer.Say("interrupted; checking what was sent") })
	defer stop()
	r, err := l.run(ctx)
	code := report(out, errOut, r, err, c.json, func() { r.print(out) })
	if err == nil && !r.passed() {
		code = 1
	}
	return code
}

// now is the present moment of the run.
func (l *searchLoad) now() moment { return moment(time.Since(l.start)) }

func (l *searchLoad) run(ctx context.Context) (*searchResult, error) {
	if err := l.prepare(ctx); err != nil {
		return nil, err
	}
	r := &searchResult{}
	if err := l.fill(ctx, r); err != nil {
		return nil, err
	}
	if err := l.measureLag(ctx); err != nil {
		return nil, err
	}
	if err := l.settle(ctx); err != nil {
		return nil, err
	}
	if err := l.measureQueries(ctx, r); err != nil {
		return nil, err
	}
	if err := l.checkSettled(ctx); err != nil {
		return nil, err
	}
	l.complete(r)
	return r, nil
}

// prepare makes users and groups.
func (l *searchLoad) prepare(ctx context.Context) error {
	c := &l.config
	texts, source, err := newCorpus(c.text, c.bytes, c.seed)
	if err != nil {
		return err
	}
	l.deploy.progress("text from %s", source)
	if l.users, err = l.deploy.users(ctx, c.users, 1); err != nil {
		return err
	}
	groups, random := make([][]int, c.groups), rand.New(rand.NewPCG(c.seed, 2))
	l.conversations = make([]uint64, c.groups)
	for g := range groups {
		first := g * c.groupSize // so that all users are in as many groups, up to one
		for i := range c.groupSize {
			groups[g] = append(groups[g], (first+i)%c.users)
		}
		random.Shuffle(len(groups[g]), func(i, j int) { groups[g][i], groups[g][j] = groups[g][j], groups[g][i] })
	}
	l.model = newSearchModel(texts, c.messages, groups, c.seed)
	return l.deploy.inSteps(ctx, "making groups", c.groups, func(ctx context.Context, g int) error {
		members := make([]*user, 0, c.groupSize)
		for _, u := range groups[g] {
			members = append(members, l.users[u])
		}
		made, err := l.deploy.group(ctx, members)
		if err == nil {
			l.conversations[g] = made.Id
		}
		return err
	})
}

// content is the method of sending, for messages, edits and recalls.
func (l *searchLoad) content(ctx context.Context, author int, r *chatv1.SendRequest) (*chatv1.SendResponse, error) {
	return invoke(ctx, &l.callers, author, func(e *endpoint) func(context.Context, *connect.Request[chatv1.SendRequest]) (*connect.Response[chatv1.SendResponse], error) {
		return e.chat.Send
	}, r)
}

// send sends message n to the n-th group in turn.
func (l *searchLoad) send(ctx context.Context, n int, probe string) (*searchedMessage, error) {
	random := rand.New(rand.NewPCG(l.config.seed, uint64(3_000_000+n)))
	g := n % len(l.conversations)
	members := l.model.groups[g]
	m := &searchedMessage{group: g, author: members[random.IntN(len(members))], topic: l.model.anyTopic(random)}
	text := l.model.textOf(m.topic, probe, n, l.config.bytes)
	r, err := l.content(ctx, m.author, &chatv1.SendRequest{Conversation: l.conversations[g], ClientMsgId: fmt.Sprintf("b%s.%d", l.deploy.run, n), Content: textContent(text)})
	if err != nil {
		return nil, fmt.Errorf("sending: %w", err)
	}
	m.at = place{l.conversations[g], r.Seq}
	l.model.add(m)
	l.sent.Add(1)
	return m, nil
}

func textContent(text string) *chatv1.Content {
	return &chatv1.Content{Kind: &chatv1.Content_Text{Text: text}}
}

// fill sends the first messages, and waits until the last one of each group is found.
func (l *searchLoad) fill(ctx context.Context, r *searchResult) error {
	c, last := &l.config, make([]*searchedMessage, len(l.conversations))
	words := make([]string, len(last))
	random := rand.New(rand.NewPCG(c.seed, 4))
	for g := range words {
		words[g] = topicWord(random, false)
	}
	cpu, began := serverCPU(urls(c.url)), time.Now()
	step := l.deploy.printer.Step("sending")
	err := each(ctx, c.messages, c.senders, func(ctx context.Context, n int) error {
		probe := ""
		if n >= c.messages-len(last) {
			probe = words[n%len(last)]
		}
		m, err := l.send(ctx, n, probe)
		if probe != "" {
			last[n%len(last)] = m
		}
		k := l.sent.Load()
		step.At(float64(k)/float64(c.messages), fmt.Sprintf("%d of %d", k, c.messages))
		return err
	})
	step.End()
	if err != nil {
		return err
	}
	r.SentPerS = float64(c.messages) / time.Since(began).Seconds()
	err = l.deploy.inSteps(ctx, "waiting until all are found", len(last), func(ctx context.Context, g int) error {
		return l.awaitFound(ctx, last[g], words[g])
	})
	r.IndexedPerS = float64(c.messages) / time.Since(began).Seconds()
	if cpu != nil {
		r.ServerCPU = cpu() * 1e6 / float64(c.messages)
	}
	return err
}

// A message is searched for at once, and again after firstProbe and then a sixth of the time since: a measured lag is too long by a sixth at most, and the searches take little from
// the server that is measured.
const firstProbe, probeAgain = 20 * time.Millisecond, 6

// awaitFound searches for a message by a word that only this one has, as one of those who may read it, until it is found. If that takes longer than --patience, the message is missing.
func (l *searchLoad) awaitFound(ctx context.Context, m *searchedMessage, word string) error {
	reader := l.model.groups[m.group][0]
	for began := time.Now(); ; {
		hits, _, err := l.page(ctx, reader, word, false, "")
		switch {
		case err != nil:
			return err
		case len(hits) > 0:
			return nil
		case time.Since(began) > l.config.patience:
			l.fault(searchFaults{Missing: 1}, fmt.Sprintf("message %d of conversation %d was not found within --patience by its word %q", m.at.seq, m.at.conversation, word))
			return nil
		}
		if err := backoff.Sleep(ctx, max(firstProbe, time.Since(began)/probeAgain)); err != nil {
			return err
		}
	}
}

// fault counts faults, and describes the first ones.
func (l *searchLoad) fault(f searchFaults, what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.faults.Wrong += f.Wrong
	l.faults.Missing += f.Missing
	if l.described++; l.described <= maxDescribed {
		l.deploy.progress("%s", what)
	}
}

// page reads a page of messages.
func (l *searchLoad) page(ctx context.Context, reader int, query string, typing bool, at string) (hits []place, next string, err error) {
	r, err := invoke(ctx, &l.callers, reader, func(e *endpoint) func(context.Context, *connect.Request[searchv1.SearchRequest]) (*connect.Response[searchv1.SearchResponse], error) {
		return e.search.Search
	}, &searchv1.SearchRequest{Query: query, Typing: typing, Kinds: []searchv1.HitKind{searchv1.HitKind_HIT_KIND_MESSAGE}, Page: at})
	if err != nil {
		return nil, "", fmt.Errorf("searching for %q: %w", query, err)
	}
	if r.Incomplete {
		l.unfinished.Add(1)
	}
	for _, g := range r.Groups {
		for _, h := range g.Hits {
			hits = append(hits, place{h.Message.GetConversation(), h.Message.GetSeq()})
		}
		next = g.Next
	}
	return hits, next, nil
}
