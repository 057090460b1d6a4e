package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/rialto-im/rialto/internal/base/backoff"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// measureLag sends at a rate, and measures for some messages how long it takes from their acknowledgement until they are found.
func (l *searchLoad) measureLag(ctx context.Context) error {
	c := &l.config
	step := l.deploy.printer.Step("measuring how soon messages are found")
	defer step.End()
	n, each := int(c.lagFor.Seconds()*float64(c.rate)), c.rate/c.probes
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := func(err error) {
		if err != nil {
			l.fail(err)
			cancel()
		}
	}
	var running sync.WaitGroup
	places := make(chan struct{}, 16*c.senders) // of messages that are on their way
	began := time.Now()
	for i := 0; i < n && backoff.Sleep(ctx, time.Until(began.Add(time.Duration(i)*time.Second/time.Duration(c.rate)))) == nil; i++ {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			continue
		}
		running.Go(func() {
			word := ""
			if i%each == 0 {
				word = topicWord(rand.New(rand.NewPCG(c.seed, uint64(4_000_000+i))), false)
			}
			m, err := l.send(ctx, c.messages+i, word)
			<-places
			if err != nil || word == "" {
				failed(err)
				return
			}
			acked := time.Now()
			if err := l.awaitFound(ctx, m, word); err != nil {
				failed(err)
				return
			}
			l.mu.Lock()
			defer l.mu.Unlock()
			l.lag.add(time.Since(acked))
		})
		step.At(float64(i)/float64(n), fmt.Sprintf("%d of %d", i, n))
	}
	running.Wait()
	return l.failure()
}

// measureQueries makes all kinds of queries beside edits and recalls, and checks each answer.
func (l *searchLoad) measureQueries(ctx context.Context, r *searchResult) error {
	changing, end := context.WithCancel(ctx)
	defer end()
	l.setEndSending(end)
	defer l.setEndSending(nil)
	var changer sync.WaitGroup
	if l.config.changes > 0 {
		changer.Go(func() {
			if err := l.change(changing); err != nil {
				l.fail(err)
			}
		})
	}
	step, began := l.deploy.printer.Step("searching"), time.Now()
	defer step.End()
	err := each(ctx, l.config.queries, l.config.searchers, func(ctx context.Context, i int) error {
		step.At(float64(i)/float64(l.config.queries), fmt.Sprintf("%d of %d", i, l.config.queries))
		if l.failure() != nil {
			return l.failure()
		}
		return l.query(ctx, i)
	})
	r.QueriesPerS = float64(l.config.queries) / time.Since(began).Seconds()
	end()
	changer.Wait()
	if err != nil {
		return err
	}
	return l.failure()
}

// query makes the i-th query. Half search for a topic; the others have a typo, are not finished, have a further word, or are a word that is in many messages.
func (l *searchLoad) query(ctx context.Context, i int) error {
	random := rand.New(rand.NewPCG(l.config.seed, uint64(5_000_000+i)))
	s := &search{reader: random.IntN(len(l.users)), topic: l.model.anyTopic(random)}
	latin := s.topic[0] < utf8.RuneSelf
	query, whole, typing := s.topic, true, false
	switch kind := i % 8; {
	case kind == 4 && latin:
		other := "q"
		if s.topic[6] == 'q' {
			other = "x"
		}
		query = s.topic[:6] + other + s.topic[7:]
	case kind == 5 && latin:
		query, typing = s.topic[:9], true
	case kind == 6:
		query, whole = s.topic+" "+l.model.commonWord(random), false
	case kind == 7:
		query, whole, s.topic = l.model.commonWord(random), false, ""
	}
	return l.find(ctx, s, query, typing, whole)
}

// find makes a query, measures its first page, and checks all that it reads: the first page, or whole the pages.
func (l *searchLoad) find(ctx context.Context, s *search, query string, typing, whole bool) error {
	s.asked = l.now()
	began, at := time.Now(), ""
	for first := true; first || whole && at != ""; first = false {
		hits, next, err := l.page(ctx, s.reader, query, typing, at)
		if err != nil {
			return err
		}
		if first {
			l.mu.Lock()
			l.queries.add(time.Since(began))
			l.mu.Unlock()
		}
		s.hits, at = append(s.hits, hits...), next
	}
	s.got, s.complete = l.now(), whole
	if wrong, missing := l.model.check(s); wrong+missing > 0 {
		l.fault(searchFaults{Wrong: uint64(wrong), Missing: uint64(missing)}, fmt.Sprintf("of the hits of user %d for %q, %d are wrong and %d are missing", l.users[s.reader].id, query, wrong, missing))
	}
	return nil
}

// change edits and recalls messages until ctx ends. What was begun is brought to its end.
func (l *searchLoad) change(ctx context.Context) error {
	random := rand.New(rand.NewPCG(l.config.seed, 5))
	for n := 0; backoff.Sleep(ctx, time.Second/time.Duration(l.config.changes)) == nil; n++ {
		topic := ""
		if n%2 == 0 {
			topic = l.model.anyTopic(random)
		}
		m := l.model.changing(random, topic, l.now())
		if m == nil {
			continue
		}
		content, target := &chatv1.Content{}, &chatv1.Ref{Seq: m.at.seq}
		if topic != "" {
			content.Kind = &chatv1.Content_Edit{Edit: &chatv1.Edit{Target: target, Content: textContent(l.model.textOf(topic, "", n, l.config.bytes))}}
		} else {
			content.Kind = &chatv1.Content_Recall{Recall: &chatv1.Recall{Target: target}}
		}
		if _, err := l.content(context.WithoutCancel(ctx), m.author, &chatv1.SendRequest{Conversation: m.at.conversation, ClientMsgId: fmt.Sprintf("b%s.c%d", l.deploy.run, n), Content: content}); err != nil {
			return fmt.Errorf("editing or recalling a message: %w", err)
		}
		l.model.change(m, l.now())
		l.changes.Add(1)
	}
	return nil
}

// settle waits until a further message of each group is found, so that everything that was sent, edited and recalled before it is in the index.
func (l *searchLoad) settle(ctx context.Context) error {
	groups := len(l.conversations)
	first := (int(l.sent.Load()) + groups) / groups * groups // above all numbers so far, and a multiple
	return l.deploy.inSteps(ctx, "waiting until everything is found", groups, func(ctx context.Context, g int) error {
		word := topicWord(rand.New(rand.NewPCG(l.config.seed, uint64(8_000_000+first+g))), false)
		m, err := l.send(ctx, first+g, word)
		if err != nil {
			return err
		}
		return l.awaitFound(ctx, m, word)
	})
}

// maxSettledQueries is how many topics are searched for at the end.
const maxSettledQueries = 200

// checkSettled checks answers exactly, when nothing is changed any more.
func (l *searchLoad) checkSettled(ctx context.Context) error {
	if err := l.settle(ctx); err != nil {
		return err
	}
	queries := histogram{}
	l.mu.Lock()
	queries.merge(&l.queries)
	l.mu.Unlock()
	err := l.deploy.inSteps(ctx, "comparing whole answers", min(l.config.queries, maxSettledQueries), func(ctx context.Context, i int) error {
		random := rand.New(rand.NewPCG(l.config.seed, uint64(7_000_000+i)))
		s := &search{reader: random.IntN(len(l.users)), topic: l.model.anyTopic(random), settled: true}
		return l.find(ctx, s, s.topic, false, true)
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queries = queries // those at the end are not measured: many are made at the same time
	return err
}

// commonWord is a word of one of the texts, which is in many messages.
func (m *searchModel) commonWord(random *rand.Rand) string {
	for range 20 {
		words := strings.Fields(string(m.corpus.of(0, random.Uint32())))
		if len(words) < 3 {
			continue
		}
		w := words[1+random.IntN(len(words)-2)] // the first and the last may be cut
		if isLetters(w) && len(w) >= 3 && len(w) < 20 {
			return w
		}
	}
	return m.anyTopic(random)
}

func isLetters(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') })
}
