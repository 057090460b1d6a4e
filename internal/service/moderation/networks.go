package moderation

import (
	"context"
	"database/sql"
	"encoding/hex"
	"net/netip"

	"github.com/rialto-im/rialto/internal/base/errs"
	"github.com/rialto-im/rialto/internal/engine/sqldb"
)

// maxNetworks bounds the bans of networks, since each node has them in memory.
const maxNetworks = 10_000

var errTooManyNetworks = errs.New(errs.Exhausted, "too_many_bans", "at most 10,000 networks are banned at once; lift some bans first")

// bannedNetworks are those of the rows. They are never changed, only replaced.
type bannedNetworks struct {
	bits []int // lengths that there are
	ends map[netip.Prefix]int64
}

// errNetwork refuses a request from a network that is banned.
func errNetwork(endsMs int64) error {
	e := errs.New(errs.Denied, "address_banned", "your network address is banned "+untilText(endsMs))
	e.Ban = &errs.Ban{EndsMs: endsMs}
	return e
}

// CheckAddress fails if the network of a request is banned, by this node's memory: within a second of the ban as a rule, and of half a minute at most while this node reads the database. It
// does not block.
func (s *Service) CheckAddress(from netip.Prefix) error {
	banned := s.networks.Load()
	if len(banned.bits) == 0 || !from.IsValid() {
		return nil
	}
	now := s.nowMs()
	for _, bits := range banned.bits {
		if bits > from.Bits() {
			continue
		}
		p, err := from.Addr().Prefix(bits)
		if err != nil {
			continue
		}
		if endsMs, ok := banned.ends[p]; ok && (endsMs == 0 || endsMs > now) {
			return errNetwork(endsMs)
		}
	}
	return nil
}

// hexOf is an address in 32 hexadecimal digits, which sort as addresses do.
func hexOf(a netip.Addr) string {
	b := a.As16()
	return hex.EncodeToString(b[:])
}

// lastOf is the last address of a network.
func lastOf(p netip.Prefix) netip.Addr {
	b, first := p.Addr().As16(), p.Bits()
	if p.Addr().Is4() {
		first += 96
	}
	for bit := first; bit < 128; bit++ {
		b[bit/8] |= 1 << (7 - bit%8)
	}
	return netip.AddrFrom16(b)
}

// admitNetwork returns the bounds of a network that is about to be banned, and tells nodes of it.
func (s *Service) admitNetwork(ctx context.Context, tx *sql.Tx, p netip.Prefix) (low, high string, err error) {
	var n int
	if err := tx.QueryRowContext(ctx, `SELECT count(*) FROM moderation_bans WHERE lifted_ms = 0 AND high <> '' AND (ends_ms = 0 OR ends_ms > $1)`, s.nowMs()).Scan(&n); err != nil {
		return "", "", err
	}
	if n >= maxNetworks {
		return "", "", errTooManyNetworks
	}
	return hexOf(p.Addr()), hexOf(lastOf(p)), s.addEvent(ctx, tx)
}

func (s *Service) reloadNetworks(ctx context.Context) error {
	rows, err := s.deps.DB.Read().QueryContext(ctx, `SELECT target, ends_ms FROM moderation_bans WHERE lifted_ms = 0 AND high <> '' AND (ends_ms = 0 OR ends_ms > $1)`, s.nowMs())
	fresh, seen := &bannedNetworks{ends: map[netip.Prefix]int64{}}, map[int]bool{}
	err = sqldb.EachRow(rows, err, func(rows *sql.Rows) error {
		var text string
		var endsMs int64
		if err := rows.Scan(&text, &endsMs); err != nil {
			return err
		}
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return err
		}
		if was, ok := fresh.ends[p]; !ok || was != 0 && (endsMs == 0 || endsMs > was) {
			fresh.ends[p] = endsMs
		}
		if !seen[p.Bits()] {
			seen[p.Bits()] = true
			fresh.bits = append(fresh.bits, p.Bits())
		}
		return nil
	})
	if err == nil {
		s.networks.Store(fresh)
	}
	return err
}
