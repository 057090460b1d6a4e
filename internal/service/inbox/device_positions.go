package inbox

import (
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
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	stored := make(map[id.User]storedPositions, len(users))
	for rows.Next() {
		var u id.User
		var d id.Device
		var at message.Position
		if err := rows.Scan(&u, &d, &at); err != nil {
			return nil, err
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
	}
	return stored, rows.Err()
}

// lowestKept returns the position below which a user's devices are dropped, 0 for none.
func lowestKept(stored storedPositions, moved []deviceAck) message.Position {
	if len(stored.devices)+len(moved) <= maxDevicePositions {
		return 0
	}
	all := maps.Clone(stored.devices)
	if all == nil {
		all = map[id.Device]message.Position{}
	}
	for _, a := range moved {
		all[a.device] = a.at
	}
	if len(all) <= maxDevicePositions {
		return 0
	}
	return slices.Sorted(maps.Values(all))[len(all)-maxDevicePositions/2]
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
		if p.prune == 0 {
			continue
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM device_positions WHERE owner = $1 AND position < $2`, int64(p.user), int64(p.prune)); err != nil {
			return err
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
	if errors.Is(err, timeline.ErrCorrupt) {
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
