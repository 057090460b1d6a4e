package chaos

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// chart computes the chart of a run.
func (r *Report) chart(events []Event) *chart {
	ops := gather(events, r.About).ops
	length := time.Second
	for _, e := range events {
		length = max(length, e.T)
	}
	x := func(t time.Duration) float64 { return plotWidth * min(1, t.Seconds()/length.Seconds()) }
	c := &chart{Report: r, Length: length.Round(time.Second).String(), Events: len(events), Replay: r.Replay(), Sound: r.Passed()}
	c.Series = []*series{{F: FSend, Name: "send", Class: "a"}, {F: FRead, Name: "history", Class: "b"}, {F: FProbe, Name: "probe", Class: "c"}}
	for _, s := range c.Series {
		s.draw(ops, length)
	}
	shown := &series{F: FDeliver, Name: "from send to delivery", Class: "d"}
	shown.draw(showings(events, ops), length)
	c.Series = append(c.Series, shown)
	for _, f := range []string{FJoin, FLeave, FInvite, FKick, FBlock, FUnblock, FMark, FCursor, FWrite, FProfile, FUpload, FDownload} {
		s := &series{F: f, Name: f}
		s.draw(ops, length)
		s.Class = ""
		c.Series = append(c.Series, s)
	}
	c.drawThroughput(ops, length)
	c.drawFaults(faultsOf(events), length, x)
	for _, name := range []string{Loaded, Faults, Healed, Ended, Quiesced} {
		if t := stage(events, name); t != never {
			c.Marks = append(c.Marks, stageLabel{tick: tick{x(t), name}})
		}
	}
	c.layoutLabels()
	step := niceStep(length)
	for t := time.Duration(0); t <= length; t += step {
		c.XTicks = append(c.XTicks, tick{x(t), t.String()})
	}
	for _, d := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Second} {
		c.YTicks = append(c.YTicks, tick{height(d), d.String()})
	}
	return c
}

// letter is the maximum width of a letter in the plots; row is the height of a line of text.
const letter, row = 7.5, 14.0

// layoutLabels moves stage labels up that would overlap a label to their left.
func (c *chart) layoutLabels() {
	var ends []float64 // right ends of the labels in each row
	for i := range c.Marks {
		m := &c.Marks[i]
		half := letter * float64(len(m.Label)+1) / 2
		at := 0
		for at < len(ends) && ends[at] > m.At-half {
			at++
		}
		if at == len(ends) {
			ends = append(ends, 0)
		}
		ends[at] = m.At + half
		m.Under = -row * float64(at)
		m.Y = m.Under - 4
	}
	c.Top = -6 - row*float64(max(1, len(ends)))
	c.Height = plotHeight + 34 - c.Top
}

// showings returns pseudo-operations from the first send of a message to its delivery on each device of other users.
func showings(events []Event, ops []operation) (list []operation) {
	begun := map[string]time.Duration{}
	for _, o := range ops {
		if _, ok := begun[o.Text]; o.F == FSend && !ok {
			begun[o.Text] = o.begin
		}
	}
	for _, e := range events {
		if begin, ok := begun[e.Text]; e.F == FDeliver && ok && e.User != e.From {
			list = append(list, operation{Event: e, begin: begin, end: e.T, how: Ok})
		}
	}
	return list
}

// niceStep returns the distance of the ticks on the time axis.
func niceStep(length time.Duration) time.Duration {
	for _, s := range []time.Duration{5 * time.Second, 10 * time.Second, 30 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute} {
		if length/s <= 12 {
			return s
		}
	}
	return 30 * time.Minute
}

// height of a latency in the plot, on a logarithmic scale.
func height(d time.Duration) float64 {
	s := min(max(d.Seconds(), quickest), slowest)
	return plotHeight * (1 - math.Log(s/quickest)/math.Log(slowest/quickest))
}

// draw computes the latency path of an operation, by start time.
func (s *series) draw(ops []operation, length time.Duration) {
	slots := make([][]time.Duration, steps)
	var all []time.Duration
	for _, o := range ops {
		if o.F != s.F {
			continue
		}
		s.Count++
		switch o.how {
		case Fail:
			s.Failed++
		case Info:
			s.Open++
		}
		if o.how == Info || o.how == Fail {
			continue
		}
		took := o.end - o.begin
		i := min(steps-1, int(float64(steps)*o.begin.Seconds()/length.Seconds()))
		slots[i] = append(slots[i], took)
		all = append(all, took)
	}
	var path strings.Builder
	move := true
	for i, list := range slots {
		if len(list) == 0 {
			move = true
			continue
		}
		verb := "L"
		if move {
			verb = "M"
		}
		move = false
		at, y := plotWidth*(float64(i)+0.5)/steps, height(percentile(list, 0.99))
		fmt.Fprintf(&path, "%s%.1f %.1f", verb, at, y)
		if verb == "M" { // a dot, if no line follows
			fmt.Fprintf(&path, "l0.1 0")
		}
	}
	s.Points = path.String()
	s.P50, s.P99, s.Most = short(percentile(all, 0.5)), short(percentile(all, 0.99)), short(percentile(all, 1))
}

func short(d time.Duration) string {
	switch {
	case d >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case d >= time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	}
	return d.Round(time.Microsecond).String()
}

// drawThroughput draws the number of successful operations a second.
func (c *chart) drawThroughput(ops []operation, length time.Duration) {
	counts := make([]int, steps)
	for _, o := range ops {
		if o.how == Ok {
			counts[min(steps-1, int(float64(steps)*o.end.Seconds()/length.Seconds()))]++
		}
	}
	most := 1
	for _, n := range counts {
		most = max(most, n)
	}
	c.Most = int(float64(most) / (length.Seconds() / steps))
	var path strings.Builder
	fmt.Fprintf(&path, "M0 80")
	for i, n := range counts {
		fmt.Fprintf(&path, "L%.1f %.1f", plotWidth*(float64(i)+0.5)/steps, 80-80*float64(n)/float64(most))
	}
	fmt.Fprintf(&path, "L%.0f 80Z", plotWidth)
	c.Throughput = path.String()
}

// drawFaults draws the faults; concurrent ones are in separate rows.
func (c *chart) drawFaults(faults []fault, length time.Duration, x func(time.Duration) float64) {
	var rows []time.Duration // end of the last fault in each row
	for _, f := range faults {
		end := min(f.end, length)
		row := 0
		for row < len(rows) && rows[row] > f.begin {
			row++
		}
		if row == len(rows) {
			rows = append(rows, 0)
		}
		rows[row] = end
		c.Bands = append(c.Bands, band{X: x(f.begin), Width: max(1, x(end)-x(f.begin)), Row: row, Text: f.text, From: at(f.begin), To: at(f.end), Y: 4 + 16*float64(row)})
	}
	c.BandHeight = 8 + 16*float64(max(1, len(rows)))
}
