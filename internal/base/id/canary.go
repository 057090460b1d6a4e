package id

import "math"

// MaxCanaries is how many canary users there can be: one for each node.
const MaxCanaries = 1024

// lastCanary is the highest id of a canary user. The 4,096 ids above are those of event streams (package timeline).
const lastCanary User = math.MaxInt64 - 1<<12

// CanaryUser returns the user of the delivery canary with a number, 1 to MaxCanaries. Ids of rows reach those of canaries in 2094, so that any package
// recognizes a canary without a look-up.
func CanaryUser(number int) User { return lastCanary - MaxCanaries + User(number) }

// IsCanary reports whether the user is a delivery canary, and no person.
func (u User) IsCanary() bool { return u > lastCanary-MaxCanaries && u <= lastCanary }
