package inbox

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"

	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/base/message"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	"github.com/rialto-im/rialto/internal/engine/timeline"
)

// maxDevicePositions is how many devices of a user have a stored position. Beyond it, the half that is the furthest behind is dropped.
const maxDevicePositions = 200

// storedPositions are the stored positions of a user's devices.
type storedPositions struct {
	devices   map[id.Device]message.Position
	confirmed message.Position // up to which the stream was searched for deliveries; no device is above it
}

// devicePositions returns the stored positions of the devices of some users.
func (s *Service) devicePositions(ctx context.Context, users ...id.User) (map[id.User]storedPositions, error) {
	marks, args := sqldb.Placeholders(1, users, func(u id.User) int64 { return int64(u) })
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT owner, device, position FROM device_positions WHERE owner IN (`+marks+`)
		UNION ALL SELECT owner, 0, position FROM confirmed WHERE owner IN (`+marks+`)`, args...)
	stored := make(map[id.User]storedPositions, len(users))
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var u id.User
		var d id.Device
		var at message.Position
		if err := rows.Scan(&u, &d, &at); err != nil {
			return err
		}
		p := stored[u]
		if d != 0 {
			if p.devices == nil {
				p.devices = map[id.Device]message.Position{}
			}
			p.devices[d] = at
		}
		p.confirmed = max(p.confirmed, at)
		stored[u] = p
		return nil
	})
	return stored, err
}

// furthestBehind returns the devices of a user whose positions are dropped, because too many are stored. At equal positions, the oldest
// devices are: those with the lowest ids.
func furthestBehind(stored storedPositions, moved []deviceAck) (dropped []deviceAck) {
	if len(stored.devices)+len(moved) <= maxDevicePositions {
		return nil
	}
	all := maps.Clone(stored.devices)
	if all == nil {
		all = map[id.Device]message.Position{}
	}
	for _, a := range moved {
		all[a.device] = a.at
	}
	if len(all) <= maxDevicePositions {
		return nil
	}
	for d, at := range all {
		dropped = append(dropped, deviceAck{d, at})
	}
	slices.SortFunc(dropped, func(a, b deviceAck) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.device, b.device)) })
	return dropped[:len(all)-maxDevicePositions/2]
}

// writeDevicePositions stores the positions of users' devices. A position never decreases.
func writeDevicePositions(ctx context.Context, tx *sql.Tx, list []ackProgress) error {
	put, err := tx.PrepareContext(ctx, `INSERT INTO device_positions (owner, device, position) VALUES ($1, $2, $3)
		ON CONFLICT (owner, device) DO UPDATE SET position = $3 WHERE device_positions.position < $3`)
	if err != nil {
		return err
	}
	defer put.Close()
	for _, p := range list {
		for _, a := range p.devices {
			if _, err := put.ExecContext(ctx, int64(p.user), int64(a.device), int64(a.at)); err != nil {
				return err
			}
		}
		for _, a := range p.dropped { // unless it has moved since
			if _, err := tx.ExecContext(ctx, `DELETE FROM device_positions WHERE owner = $1 AND device = $2 AND position = $3`, int64(p.user), int64(a.device), int64(a.at)); err != nil {
				return err
			}
		}
	}
	return nil
}

// DeviceState says what a device has of its user's stream.
type DeviceState struct {
	UpToDate bool
	// BehindSinceMs is the time of the first message that the device has not acknowledged, 0 if there is none, or if it is not known.
	BehindSinceMs int64
}

// DeviceStates returns the states of a user's devices. At most 512 entries of the stream are examined for each.
func (s *Service) DeviceStates(ctx context.Context, u id.User, devices []id.Device) (map[id.Device]DeviceState, error) {
	stored, err := s.devicePositions(ctx, u)
	if err != nil {
		return nil, err
	}
	states, known := make(map[id.Device]DeviceState, len(devices)), map[message.Position]DeviceState{}
	for _, d := range devices {
		at, acked := stored[u].devices[d]
		st, ok := known[at]
		if !ok {
			if st, err = s.stateAt(ctx, u, at, acked); err != nil {
				return nil, err
			}
			known[at] = st
		}
		states[d] = st
	}
	return states, nil
}

// stateAt returns the state of a device at a position. acked: the device has acknowledged something.
func (s *Service) stateAt(ctx context.Context, u id.User, at message.Position, acked bool) (DeviceState, error) {
	if !acked {
		tail, err := s.Tail(ctx, u)
		return DeviceState{UpToDate: tail == 0}, err
	}
	var first *timeline.Entry
	end, err := s.scanStream(ctx, u, at, func(e *timeline.Entry) bool {
		_, seq, _, err := message.DecodeInbox(e.Payload)
		if err == nil && seq != 0 {
			first = e
		}
		return first == nil
	})
	if errors.Is(err, timeline.ErrCorrupt) || errors.Is(err, errTrimmed) { // it is behind, and since when is not known any more
		return DeviceState{}, nil
	}
	if err != nil || first == nil {
		return DeviceState{UpToDate: end && err == nil}, err
	}
	ms, err := s.entryTime(ctx, first)
	if errors.Is(err, timeline.ErrCorrupt) {
		err = nil
	}
	return DeviceState{BehindSinceMs: ms}, err
}

// Acknowledged returns up to where in the streams of some users at least one device has everything, as far as it is stored.
func (s *Service) Acknowledged(ctx context.Context, users []id.User) (map[id.User]message.Position, error) {
	at := make(map[id.User]message.Position, len(users))
	for some := range slices.Chunk(users, maxIDsPerQuery) {
		stored, err := s.devicePositions(ctx, some...)
		if err != nil {
			return nil, err
		}
		for u, p := range stored {
			for _, device := range p.devices {
				at[u] = max(at[u], device)
			}
		}
	}
	return at, nil
}
