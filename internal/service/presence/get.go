package presence

import (
	"context"
	"errors"
	"slices"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/base/id"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
	presencev1 "github.com/rialto-im/rialto/sdk/go/gen/presence/v1"
)

const (
	maxWatched = 500
	maxQueried = 200
	// idsPerQuery bounds the list of ids in a statement.
	idsPerQuery = 200
)

// Get returns the presence of users as one user may see it: users whom they may not see are offline.
func (s *Service) Get(ctx context.Context, by id.User, users []id.User) ([]*presencev1.Presence, error) {
	if len(users) > maxQueried {
		return nil, errs.New(errs.Invalid, "too_many_users", "ask for at most 200 users at once")
	}
	return s.visiblePresences(ctx, by, users)
}

func (s *Service) visiblePresences(ctx context.Context, by id.User, users []id.User) ([]*presencev1.Presence, error) {
	settings, err := s.deps.SettingsOf(ctx, users)
	if err != nil {
		return nil, err
	}
	seen, err := s.seenBy(ctx, by, users, settings)
	if err != nil {
		return nil, err
	}
	list := make([]*presencev1.Presence, len(users))
	var visible []id.User
	var at []int // in list
	for i, u := range users {
		if list[i] = hidden(u); seen[u] {
			visible, at = append(visible, u), append(at, i)
		}
	}
	statuses, err := s.deps.Directory.Statuses(ctx, visible)
	if err != nil {
		return nil, err
	}
	var offline []id.User
	for n, u := range visible {
		list[at[n]] = s.shape(u, statuses[n], settings[u])
		if !statuses[n].Online {
			offline = append(offline, u)
		}
	}
	times, err := s.lastActive(ctx, offline)
	if err != nil {
		return nil, err
	}
	for n, u := range visible {
		if !statuses[n].Online {
			list[at[n]].LastActiveMs = times[u]
		}
	}
	return list, nil
}

// lastActive returns when users who are offline were last active.
func (s *Service) lastActive(ctx context.Context, users []id.User) (map[id.User]int64, error) {
	times := make(map[id.User]int64, len(users))
	for batch := range slices.Chunk(users, idsPerQuery) {
		marks, args := sqldb.Placeholders(1, batch, func(u id.User) int64 { return int64(u) })
		rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT owner, ms FROM last_active WHERE owner IN (`+marks+`)`, args...)
		if err != nil {
			return nil, err
		}
		for rows.Next() {
			var u id.User
			var ms int64
			if err = rows.Scan(&u, &ms); err != nil {
				break
			}
			times[u] = ms
		}
		if err = errors.Join(err, rows.Err(), rows.Close()); err != nil {
			return nil, err
		}
	}
	return times, nil
}

// ListDevices returns a user's own devices that are connected, on any node.
func (s *Service) ListDevices(ctx context.Context, by id.User) (*presencev1.ListDevicesResponse, error) {
	list, err := s.deps.Directory.Devices(ctx, by)
	if err != nil {
		return nil, err
	}
	r := &presencev1.ListDevicesResponse{}
	for _, d := range list {
		activity := presencev1.Activity_ACTIVITY_ACTIVE
		if d.Away {
			activity = presencev1.Activity_ACTIVITY_AWAY
		}
		r.Devices = append(r.Devices, &presencev1.DevicePresence{Session: uint64(d.Session), Activity: activity, LastActiveMs: d.LastActiveMs})
	}
	return r, nil
}
