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
	chatv1 "github.com/rialto-im/rialto/gen/rialto/chat/v1"
)

// How many users of each kind a town has. largeAbove is a setting, so that a hot room of few users is what one of thousands is.
const (
	chatters   = 8
	stormers   = 3
	churners   = 5
	flappers   = 4
	largeAbove = 10
)

// Settings that the nodes of a cluster are given: short times, so that a run sees what else takes an hour.
func nodeSettings() []string {
	return []string{fmt.Sprintf("chat.large_above=%d", largeAbove), "gateway.heartbeat=1s", "gateway.grace=6s",
		"presence.grace=2s", "inbox.new_device=1000000", "account.logins_per_minute=1000"}
}

// room is a conversation.
type room struct {
	id      uint64
	members []*person
	// fixed: nobody comes or goes, so that every member's devices are to have all of it.
	fixed         bool
	large, direct bool
}

// town is all that lives in a cluster during a run.
type town struct {
	*crowd
	cluster *Cluster
	seed    uint64
	rate    float64

	chatters, stormers, churners, flappers []*person
	filers                                 []*person // where files are in S3
	prober                                 *person
	shelf                                  shelf
	rooms                                  []*room // of LOAD1, for each chatter by chance
	hot, storm, open, probed               *room
	blocks                                 []*room // one-to-one, of churners
	everyRoom                              []*room
	everybody                              []*person
}

// found makes the users and conversations of a town. Nothing is broken meanwhile.
func found(ctx context.Context, c *Cluster, record *Recorder, seed uint64, rate float64) (*town, error) {
	t := &town{crowd: &crowd{router: NewRouter(c), record: record, run: strconv.FormatInt(time.Now().UnixNano()%1e12, 36)}, cluster: c, seed: seed, rate: rate}
	files := 0
	if c.engines.s3 != nil {
		files = filers
	}
	for _, kind := range []struct {
		name    string
		count   int
		devices int
		list    *[]*person
	}{{"chat", chatters, 2, &t.chatters}, {"storm", stormers, 1, &t.stormers}, {"churn", churners, 1, &t.churners}, {"flap", flappers, 1, &t.flappers}, {"file", files, 0, &t.filers}} {
		for i := range kind.count {
			p, err := t.person(ctx, fmt.Sprintf("%s%d", kind.name, i+1), kind.devices)
			if err != nil {
				return nil, err
			}
			*kind.list = append(*kind.list, p)
			t.everybody = append(t.everybody, p)
		}
	}
	var err error
	if t.prober, err = t.person(ctx, "probe", 1); err != nil {
		return nil, err
	}
	t.everybody = append(t.everybody, t.prober)
	if err := t.build(ctx); err != nil {
		return nil, err
	}
	for _, p := range t.everybody {
		for _, d := range p.devices {
			t.connect(ctx, d)
		}
	}
	return t, nil
}

// build makes the conversations and friendships.
func (t *town) build(ctx context.Context) (err error) {
	for i := 0; i+1 < len(t.chatters); i += 2 {
		r, err := t.direct(ctx, t.chatters[i], t.chatters[i+1])
		if err != nil {
			return err
		}
		r.fixed = true
		t.rooms = append(t.rooms, r)
	}
	for _, list := range [][]*person{t.chatters[:4], t.chatters[2:], t.chatters} {
		r, err := t.group(ctx, "small", chatv1.JoinPolicy_JOIN_POLICY_INVITE, list...)
		if err != nil {
			return err
		}
		t.rooms = append(t.rooms, r)
	}
	all := append(append([]*person{}, t.chatters...), t.stormers...)
	if t.hot, err = t.group(ctx, "hot", chatv1.JoinPolicy_JOIN_POLICY_INVITE, all...); err != nil {
		return err
	}
	t.hot.large = true
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
	for i, a := range t.flappers {
		for _, b := range t.flappers[i+1:] {
			if err := t.friends(ctx, a, b); err != nil {
				return err
			}
		}
		if err := t.friends(ctx, a, t.prober); err != nil {
			return err
		}
	}
	return nil
}

func (t *town) direct(ctx context.Context, a, b *person) (*room, error) {
	c, err := a.caller.Chat().OpenDirect(ctx, connect.NewRequest(&chatv1.OpenDirectRequest{User: b.id}))
	if err != nil {
		return nil, err
	}
	r := &room{id: c.Msg.Id, members: []*person{a, b}, direct: true}
	t.everyRoom = append(t.everyRoom, r)
	return r, nil
}

// group makes a group; its owner is the first.
func (t *town) group(ctx context.Context, title string, policy chatv1.JoinPolicy, members ...*person) (*room, error) {
	var ids []uint64
	for _, m := range members[1:] {
		ids = append(ids, m.id)
	}
	c, err := members[0].caller.Chat().CreateGroup(ctx, connect.NewRequest(&chatv1.CreateGroupRequest{Title: title, Members: ids, JoinPolicy: policy}))
	if err != nil {
		return nil, err
	}
	r := &room{id: c.Msg.Id, members: members, fixed: true}
	t.everyRoom = append(t.everyRoom, r)
	return r, nil
}

// chance of an actor: its own, so that what it does depends on the seed alone, as far as the answers let it.
func (t *town) chance(actor string) *rand.Rand {
	h := fnv.New64a()
	_, _ = h.Write([]byte(actor)) // a hash takes all
	return rand.New(rand.NewPCG(t.seed, h.Sum64()))
}

// rest waits for a time around d, or less where the rate is higher.
func (t *town) rest(ctx context.Context, rng *rand.Rand, d time.Duration) bool {
	d = time.Duration(float64(d) / t.rate)
	return pause(ctx, d/2+time.Duration(rng.Int64N(int64(d))))
}

// live has everyone do what they do until ctx ends. An operation that has begun then is brought to its end, however long it takes,
// as long as ever lasts.
func (t *town) live(ctx, ever context.Context) *sync.WaitGroup {
	var group sync.WaitGroup
	for _, p := range t.chatters {
		group.Go(func() { t.chat(ctx, ever, p) })
		group.Go(func() { t.crowdIn(ctx, ever, p) })
		group.Go(func() { t.look(ctx, p) })
	}
	for _, p := range t.stormers {
		group.Go(func() { t.repeat(ctx, p) })
	}
	for i, p := range t.churners {
		group.Go(func() { t.churn(ctx, i, p) })
	}
	for _, p := range t.flappers {
		group.Go(func() { t.flap(ctx, ever, p) })
	}
	for _, p := range t.filers {
		group.Go(func() { t.file(ctx, ever, p) })
	}
	for _, n := range t.cluster.Nodes {
		group.Go(func() { t.probe(ctx, n) })
	}
	return &group
}
