package idservice

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"
)

const redisIncarnation = `local now = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)') .. '.' .. string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
`

var (
	// redisCount counts ARGV[1] numbers, up to ARGV[2], and returns the incarnation and the last number: 0 if the incarnation has to be
	// entered first, -1 if there are not as many numbers left.
	redisCount = redis.NewScript(redisIncarnation + `
if redis.call('HGET', KEYS[1], 'incarnation') ~= now then return {now, 0} end
local last = tonumber(redis.call('HGET', KEYS[1], 'last') or '0') + tonumber(ARGV[1])
if last > tonumber(ARGV[2]) then return {now, -1} end
redis.call('HSET', KEYS[1], 'last', string.format('%.0f', last))
return {now, last}`)
	// redisEnter makes the incarnation ARGV[1] continue above ARGV[2]. It returns 0 if the server has another incarnation by now.
	redisEnter = redis.NewScript(redisIncarnation + `
if now ~= ARGV[1] then return 0 end
if tonumber(redis.call('HGET', KEYS[1], 'last') or '0') < tonumber(ARGV[2]) then redis.call('HSET', KEYS[1], 'last', ARGV[2]) end
redis.call('HSET', KEYS[1], 'incarnation', now)
return 1`)
)

// silence keeps the client from writing to the standard error. The errors that it returns say the same.
var silence = sync.OnceFunc(func() { redis.SetLogger(noLog{}) })

type noLog struct{}

func (noLog) Printf(context.Context, string, ...any) {}

// redisServer is a server that runs the scripts.
type redisServer struct{ *redis.Client }

func (s redisServer) count(ctx context.Context, tag string, n int, maximum uint64) (incarnation string, last int64, err error) {
	got, err := redisCount.Run(ctx, s.Client, []string{redisKey(tag)}, n, decimal(maximum)).Slice()
	if err != nil {
		return "", 0, err
	}
	if len(got) == 2 {
		incarnation, isName := got[0].(string)
		last, isNumber := got[1].(int64)
		if isName && isNumber {
			return incarnation, last, nil
		}
	}
	return "", 0, errors.New("the script's answer cannot be read")
}

func (s redisServer) enter(ctx context.Context, tag, incarnation string, bound uint64) error {
	return redisEnter.Run(ctx, s.Client, []string{redisKey(tag)}, incarnation, decimal(bound)).Err()
}

func redisKey(tag string) string { return "rialto:ids:" + tag }
