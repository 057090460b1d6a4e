package directory

import (
	"context"
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
)

// Device is a session of a user with a connection.
type Device struct {
	Session id.Session
	Away    bool
	// LastActiveMs is the time of the last frame before the device was away, in milliseconds since 1970.
	LastActiveMs int64
}

// maxDevices bounds the sessions of a user that a node reports.
const maxDevices = 100

// Devices returns the connected sessions of a user on all nodes, at most 100 of each node. It asks the user's owner which nodes these are,
// and fails if one of them does not answer.
func (s *Service) Devices(ctx context.Context, u id.User) ([]Device, error) {
	list := s.devicesHere(u)
	if s.partitions == nil {
		return list, nil
	}
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	owner := s.deps.Cluster.Owner(s.deps.Cluster.Partition(uint64(u)))
	nodes := s.Locate(u)
	switch owner {
	case "":
		return nil, errMoving
	case s.deps.Node:
	default:
		there, err := s.askDevices(ctx, owner, u)
		if err != nil {
			return nil, errMoving
		}
		list, nodes = append(list, there.devices...), there.nodes
	}
	nodes = slices.DeleteFunc(slices.Clone(nodes), func(n string) bool { return n == owner || n == s.deps.Node })
	answers, errors := make([]devicesAnswer, len(nodes)), make([]error, len(nodes))
	var group sync.WaitGroup
	for i, node := range nodes {
		group.Go(func() { answers[i], errors[i] = s.askDevices(ctx, node, u) })
	}
	group.Wait()
	for i := range nodes {
		if errors[i] != nil {
			return nil, errMoving
		}
		list = append(list, answers[i].devices...)
	}
	return list, nil
}

func (s *Service) askDevices(ctx context.Context, node string, u id.User) (devicesAnswer, error) {
	b, err := ownerPolicy.Ask(ctx, s.deps.Cluster.Bus, ownerSubject(node), appendDevicesQuery(nil, u))
	if err != nil {
		return devicesAnswer{}, err
	}
	return readDevicesAnswer(b)
}

// devicesHere returns the sessions of a user that are connected to this node.
func (s *Service) devicesHere(u id.User) []Device {
	sh := s.shard(u)
	sh.mu.RLock()
	defer sh.mu.RUnlock()
	p := sh.users[u]
	if p == nil {
		return nil
	}
	list := make([]Device, min(len(p.sessions), maxDevices))
	for i := range list {
		n := &p.sessions[i]
		list[i] = Device{Session: n.session, Away: n.away(), LastActiveMs: s.wall(atomic.LoadUint32(&n.lastActive))}
	}
	return list
}

// devicesAnswer has the sessions on a node, and if the node is the user's owner, the nodes on which the user is.
type devicesAnswer struct {
	devices []Device
	nodes   []string
}

func (a *devicesAnswer) append(b []byte) []byte {
	b = binary.AppendUvarint(append(b, wireDevices), uint64(len(a.devices)))
	for _, d := range a.devices {
		b = binary.AppendUvarint(append(b, flag(d.Away, 1)), uint64(d.Session))
		b = binary.AppendUvarint(b, uint64(d.LastActiveMs))
	}
	for _, n := range a.nodes {
		b = appendName(b, n)
	}
	return b
}

func readDevicesAnswer(b []byte) (a devicesAnswer, err error) {
	r := message.FieldsOf(b)
	if r.Byte() != wireDevices {
		return a, errWire
	}
	for n := r.Uvarint(); n > 0 && !r.Bad(); n-- {
		d := Device{Away: r.Byte()&1 != 0}
		d.Session, d.LastActiveMs = id.Session(r.Uvarint()), int64(r.Uvarint())
		a.devices = append(a.devices, d)
	}
	for len(r.Rest()) > 0 {
		a.nodes = append(a.nodes, string(r.Bytes()))
	}
	if r.Bad() {
		return devicesAnswer{}, errWire
	}
	return a, nil
}

func appendDevicesQuery(b []byte, u id.User) []byte {
	return binary.AppendUvarint(append(b, wireDevicesQuery), uint64(u))
}

func readDevicesQuery(b []byte) (id.User, error) {
	r := message.FieldsOf(b)
	if r.Byte() != wireDevicesQuery {
		return 0, errWire
	}
	u := id.User(r.Uvarint())
	if r.Bad() || len(r.Rest()) > 0 {
		return 0, errWire
	}
	return u, nil
}
