package chaos

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"connectrpc.com/connect"
	"github.com/rialto-im/rialto/internal/base/synclist"
	chatv1 "github.com/rialto-im/rialto/sdk/go/gen/chat/v1"
)

// Number of users of each kind. largeAbove is set low, so that a conversation of few users behaves like one of thousands.
const (
	chatters   = 8
	stormers   = 3
	churners   = 5
	flappers   = 4
	largeAbove = 10
)

// nodeSettings returns settings of the nodes: short timeouts, so that a run covers what otherwise takes an hour.
func nodeSettings() []string {
	return []string{fmt.Sprintf("chat.large_group_above=%d", largeAbove), "gateway.heartbeat=1s", "gateway.grace=6s",
		"presence.grace=2s", "inbox.new_device_max_entries=1000000", "account.logins_per_minute=1000", "account.who_may_add=everyone", "feed.posts_per_day=100000"}
}

// conversationLoad is a conversation of the workload.
type conversationLoad struct {
	id      uint64
	members []*user
	// fixed: the members never change, so every member's devices must receive all entries.
	fixed         bool
	large, direct bool
}

// workload has all users and conversations of a run.
type workload struct {
	*userPool
	cluster *Cluster
	seed    uint64
	rate    float64

	chatters, stormers, churners, flappers []*user
	filers                                 []*user // only with S3
	revisers                               []*reviser
	authors                                []*user
	posts                                  synclist.List[uint64] // ids, in order of their acknowledgements
	prober                                 *user
	sentFiles                              synclist.List[file]
	chatConversations                      []*conversationLoad // of LOAD1; each chatter chooses one at random
	hot, storm, open, probed               *conversationLoad
	revised                                *conversationLoad // of the revisers, whose entries change; not among conversations
	revisions                              revisions
	blocks                                 []*conversationLoad // one-to-one conversations of churners
	conversations                          []*conversationLoad
	users                                  []*user
}

// newWorkload creates the users and conversations, before any fault.
func newWorkload(ctx context.Context, c *Cluster, record *Recorder, seed uint64, rate float64) (*workload, error) {
	t := &workload{userPool: &userPool{router: NewRouter(c), record: record, run: strconv.FormatInt(time.Now().UnixNano()%1e12, 36)}, cluster: c, seed: seed, rate: rate, revisions: revisions{changing: map[string]bool{}}}
	files := 0
	if c.engines.s3 != nil {
		files = filers
	}
	for _, kind := range []struct {
		name    string
		count   int
		devices int
		list    *[]*user
	}{{"chat", chatters, 2, &t.chatters}, {"storm", stormers, 1, &t.stormers}, {"churn", churners, 1, &t.churners}, {"flap", flappers, 1, &t.flappers}, {"file", files, 0, &t.filers}} {
		for i := range kind.count {
			p, err := t.register(ctx, fmt.Sprintf("%s%d", kind.name, i+1), kind.devices)
			if err != nil {
				return nil, err
			}
			*kind.list = append(*kind.list, p)
			t.users = append(t.users, p)
		}
	}
	for i := range revisers {
		p, err := t.register(ctx, fmt.Sprintf("revise%d", i+1), 0)
		if err != nil {
			return nil, err
		}
		t.revisers = append(t.revisers, &reviser{user: p})
	}
	for i := range authors {
		p, err := t.register(ctx, fmt.Sprintf("author%d", i+1), 0)
		if err != nil {
			return nil, err
		}
		t.authors = append(t.authors, p)
	}
	var err error
	if t.prober, err = t.register(ctx, "probe", 1); err != nil {
		return nil, err
	}
	t.users = append(t.users, t.prober)
	if err := t.build(ctx); err != nil {
		return nil, err
	}
	for _, p := range t.users {
		for _, d := range p.devices {
			t.connect(ctx, d)
		}
	}
	return t, nil
}

// build creates the conversations and friendships.
func (t *workload) build(ctx context.Context) (err error) {
	for i := 0; i+1 < len(t.chatters); i += 2 {
		r, err := t.direct(ctx, t.chatters[i], t.chatters[i+1])
		if err != nil {
			return err
		}
		r.fixed = true
		t.chatConversations = append(t.chatConversations, r)
	}
	for _, list := range [][]*user{t.chatters[:4], t.chatters[2:], t.chatters} {
		r, err := t.group(ctx, "small", chatv1.JoinPolicy_JOIN_POLICY_INVITE, list...)
		if err != nil {
			return err
		}
		t.chatConversations = append(t.chatConversations, r)
	}
	all := append(append([]*user{}, t.chatters...), t.stormers...)
	if t.hot, err = t.group(ctx, "hot", chatv1.JoinPolicy_JOIN_POLICY_INVITE, all...); err != nil {
		return err
	}
	t.hot.large = true
	members := make([]*user, 0, revisers)
	for _, r := range t.revisers {
		members = append(members, r.user)
	}
	if t.revised, err = t.createGroup(ctx, "revised", chatv1.JoinPolicy_JOIN_POLICY_INVITE, members...); err != nil {
		return err
	}
	if t.storm, err = t.group(ctx, "storm", chatv1.JoinPolicy_JOIN_POLICY_INVITE, t.stormers...); err != nil {
		return err
	}
	if t.open, err = t.group(ctx, "open", chatv1.JoinPolicy_JOIN_POLICY_OPEN, t.churners...); err != nil {
		return err
	}
	t.open.fixed = false
	if t.probed, err = t.direct(ctx, t.prober, t.chatters[0]); err != nil {
		return err
	}
	t.probed.fixed = true
	for i := range t.churners {
		r, err := t.direct(ctx, t.churners[i], t.churners[(i+1)%len(t.churners)])
		if err != nil {
			return err
		}
		t.blocks = append(t.blocks, r)
	}
	if err := t.follow(ctx); err != nil {
		return err
	}
	for i, a := range t.flappers {
		for _, b := range t.flappers[i+1:] {
			if err := t.makeFriends(ctx, a, b); err != nil {
				return err
			}
		}
		if err := t.makeFriends(ctx, a, t.prober); err != nil {
			return err
		}
	}
	return nil
}

func (t *workload) direct(ctx context.Context, a, b *user) (*conversationLoad, error) {
	r := &conversationLoad{members: []*user{a, b}, direct: true}
	if err := untilAnswered(ctx, func(ctx context.Context) error {
		c, err := a.caller.Chat().OpenDirect(ctx, connect.NewRequest(&chatv1.OpenDirectRequest{User: b.id}))
		if err == nil {
			r.id = c.Msg.Id
		}
		return err
	}); err != nil {
		return nil, err
	}
	t.conversations = append(t.conversations, r)
	return r, nil
}

// group creates a group whose histories and streams are compared at the end, owned by the first member.
func (t *workload) group(ctx context.Context, title string, policy chatv1.JoinPolicy, members ...*user) (*conversationLoad, error) {
	r, err := t.createGroup(ctx, title, policy, members...)
	if err == nil {
		t.conversations = append(t.conversations, r)
	}
	return r, err
}

func (t *workload) createGroup(ctx context.Context, title string, policy chatv1.JoinPolicy, members ...*user) (*conversationLoad, error) {
	var ids []uint64
	for _, m := range members[1:] {
		ids = append(ids, m.id)
	}
	r := &conversationLoad{members: members, fixed: true}
	if err := untilAnswered(ctx, func(ctx context.Context) error {
		c, err := members[0].caller.Chat().CreateGroup(ctx, connect.NewRequest(&chatv1.CreateGroupRequest{Title: title, Members: ids, JoinPolicy: policy, Key: fmt.Sprint(t.userPool.run, " ", title, " ", len(t.conversations))}))
		if err == nil {
			r.id = c.Msg.Id
		}
		return err
	}); err != nil {
		return nil, err
	}
	return r, nil
}

// rng returns the random numbers of an actor, so that its actions depend only on the seed and the answers.
func (t *workload) rng(actor string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(actor)) // a hash never fails
	return rand.New(rand.NewPCG(t.seed, h.Sum64()))
}

// wait waits for about d, divided by the rate.
func (t *workload) wait(ctx context.Context, rng *rand.Rand, d time.Duration) bool {
	d = time.Duration(float64(d) / t.rate)
	return pause(ctx, d/2+time.Duration(rng.Int64N(int64(d))))
}

// run starts all actors until ctx ends. An operation that has begun by then is completed, however long it takes, unless online ends.
func (t *workload) run(ctx, online context.Context) *sync.WaitGroup {
	var group sync.WaitGroup
	for _, p := range t.chatters {
		group.Go(func() { t.chat(ctx, online, p) })
		group.Go(func() { t.hotConversation(ctx, online, p) })
		group.Go(func() { t.readNewest(ctx, p) })
	}
	for _, p := range t.stormers {
		group.Go(func() { t.sendRepeatedly(ctx, p) })
	}
	for i, p := range t.churners {
		group.Go(func() { t.churn(ctx, i, p) })
	}
	for _, p := range t.flappers {
		group.Go(func() { t.flap(ctx, online, p) })
	}
	for _, p := range t.filers {
		group.Go(func() { t.file(ctx, online, p) })
	}
	for _, r := range t.revisers {
		group.Go(func() { t.revise(ctx, r) })
	}
	for _, p := range t.authors {
		group.Go(func() { t.author(ctx, p) })
	}
	for _, n := range t.router.Serving(roleChat) {
		group.Go(func() { t.probe(ctx, n) })
	}
	for _, c := range t.appCalls() {
		group.Go(func() { t.ask(ctx, online, c) })
	}
	return &group
}
