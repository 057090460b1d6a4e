package simulator

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Result of a simulation. Times are in virtual seconds, unless noted.
type Result struct {
	Seed     uint64  `json:"seed"`
	Nodes    int     `json:"nodes"`
	Clients  int     `json:"clients"`
	Cohorts  int     `json:"cohorts"`
	VirtualS float64 `json:"virtual_s"`
	// RealS is how long the simulation took, in real time.
	RealS float64 `json:"real_s"`
	// Trace is a hash of all events: the same for the same seed, flags and build.
	Trace  string `json:"trace"`
	Events uint64 `json:"events"`

	Episodes         int            `json:"episodes"` // of faults, after which all had recovered
	Faults           map[string]int `json:"faults"`
	Heartbeats       uint64         `json:"heartbeats"`
	FailedHeartbeats uint64         `json:"failed_heartbeats"`
	Assignments      int            `json:"assignments"`
	// Moved parts between two quiet moments; LeastMoves is how many had to move.
	Moved      int `json:"moved_parts"`
	LeastMoves int `json:"least_moves"`
	Fenced     int `json:"fenced_writes"`
	// Times without an owner of parts that were owned before. RecoveryMaxS is from the end of the last fault until all parts are where they should be.
	UnownedP50S  float64 `json:"unowned_p50_s"`
	UnownedMaxS  float64 `json:"unowned_max_s"`
	RecoveryMaxS float64 `json:"recovery_max_s"`

	// Clients that were away at the same time, at most; the time until all are back, from the first loss of an episode and from the end of its last fault.
	AwayMax        int     `json:"away_max"`
	StormMaxS      float64 `json:"storm_max_s"`
	StormAfterMaxS float64 `json:"storm_after_max_s"`
	Attempts       int     `json:"attempts"`
	FailedAttempts int     `json:"failed_attempts"`
	Admitted       int     `json:"admitted"`
	Deferred       int     `json:"deferred"`
	Refused        int     `json:"refused"`
	Slowed         int     `json:"slowed"`
	RateMin        float64 `json:"least_rate"`
	Discoveries    int     `json:"discoveries"`

	Violation *Violation `json:"violation,omitempty"`
}

// Violation of an invariant.
type Violation struct {
	Invariant string  `json:"invariant"`
	AtS       float64 `json:"at_s"`
	Text      string  `json:"text"`
	// Events are the last ones that were noted, the oldest first.
	Events []string `json:"events"`
}

// violate records the first violation, which ends the simulation.
func (s *simulation) violate(invariant, format string, args ...any) {
	if s.violation == nil {
		s.violation = &Violation{Invariant: invariant, AtS: s.now.Seconds(), Text: fmt.Sprintf(format, args...), Events: s.trace.last()}
	}
}

func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(10 * time.Millisecond)
}

// Print writes a result as text.
func (r *Result) Print(out io.Writer) {
	fmt.Fprintf(out, "simulated     %d nodes and %d clients (in %d groups) for %v, in %.1f s\n", r.Nodes, r.Clients, r.Cohorts, seconds(r.VirtualS), r.RealS)
	fmt.Fprintf(out, "seed          %d; trace %s; %d events\n", r.Seed, r.Trace, r.Events)
	var faults []string
	for _, k := range FaultKinds() {
		if r.Faults[k] > 0 {
			faults = append(faults, fmt.Sprintf("%s %d", k, r.Faults[k]))
		}
	}
	slices.Sort(faults)
	fmt.Fprintf(out, "faults        %d episodes: %s\n", r.Episodes, strings.Join(faults, ", "))
	fmt.Fprintf(out, "heartbeats    %d, of which %d failed\n", r.Heartbeats, r.FailedHeartbeats)
	fmt.Fprintf(out, "parts         %d grants; %d parts moved between quiet moments, %d had to; without an owner half of the times for %v, at most %v; all in place %v after the last fault at most; %d late writes were refused\n",
		r.Assignments, r.Moved, r.LeastMoves, seconds(r.UnownedP50S), seconds(r.UnownedMaxS), seconds(r.RecoveryMaxS), r.Fenced)
	fmt.Fprintf(out, "clients       at most %d away at once; all back %v after the first was lost, and %v after the last fault, at most\n", r.AwayMax, seconds(r.StormMaxS), seconds(r.StormAfterMaxS))
	fmt.Fprintf(out, "connections   %d tries, %d failed; %d accepted, at %.0f a second on a node at the least; %d cold starts deferred, %d refused; %d discoveries\n",
		r.Attempts, r.FailedAttempts, r.Admitted, r.RateMin, r.Deferred, r.Refused, r.Discoveries)
	if v := r.Violation; v != nil {
		fmt.Fprintf(out, "\nVIOLATION     %s, at %.6f s of virtual time, with seed %d:\n              %s\nthe last events:\n", v.Invariant, v.AtS, r.Seed, v.Text)
		for _, e := range v.Events {
			fmt.Fprintf(out, "%s\n", e)
		}
		return
	}
	fmt.Fprintln(out, "checked       all invariants hold")
}
