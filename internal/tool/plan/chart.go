package plan

import (
	"fmt"
	"math"
	"strings"
)

// chart draws machines and storage from 1,000 to 100 million daily users as SVG, with logarithmic axes. Everything but the number of
// users is taken from in.
func chart(in Input, figures []Figure) string {
	var plans []*Plan
	registered := in.Users / in.DailyUsers
	for x := fewest; x < most+0.01; x += 0.05 {
		in.DailyUsers = math.Pow(10, x)
		in.Users = registered * in.DailyUsers
		plans = append(plans, Make(in, figures))
	}
	d := &drawing{}
	d.text(20, 26, "start", `font-size="15" font-weight="bold"`, "Resources by number of daily users")
	d.text(20, 44, "start", `font-size="11" fill="#555"`, fmt.Sprintf("%s messages a day each, %s to groups of %s, kept for %s days; nodes of %s cores, %s of them used at the peak; %s zones. By rialto plan.",
		number(in.Messages), percent(in.Groups), number(in.GroupSize), number(in.Retention), number(in.Cores), percent(in.Use), number(in.Zones)))
	machines := []series{
		{"nodes", "#1b6ca8", func(p *Plan) float64 { return float64(p.Nodes) }},
		{"of PostgreSQL", "#2e8b57", func(p *Plan) float64 { return float64(p.PostgresNodes) }},
		{"of Cassandra", "#b5521b", func(p *Plan) float64 { return float64(p.CassandraNodes) }},
	}
	bytes := []series{
		{"timelines and SQL data, all copies", "#1b6ca8", func(p *Plan) float64 { return p.StoredBytes }},
		{"files", "#b5521b", func(p *Plan) float64 { return p.FileBytes }},
	}
	d.panel(70, "machines", "", plans, machines)
	d.panel(500, "stored", "B", plans, bytes)
	return fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\">\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n%s</svg>\n", 880, 400, d.out.String())
}

type series struct {
	name, colour string
	of           func(*Plan) float64
}

type drawing struct{ out strings.Builder }

func (d *drawing) text(x, y float64, anchor, style, text string) {
	fmt.Fprintf(&d.out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" %s>%s</text>\n", x, y, anchor, style, text)
}

func (d *drawing) line(x1, y1, x2, y2 float64, style string) {
	fmt.Fprintf(&d.out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2, y2, style)
}

// Range of the chart: powers of ten of daily users.
const fewest, most = 3.0, 8.0

// Position of the panels.
const (
	panelTop, panelHeight, panelWidth = 70.0, 270.0, 340.0
	small                             = `font-size="10" fill="#555"`
)

// panel draws some series by daily users, with the engines below.
func (d *drawing) panel(left float64, title, unit string, plans []*Plan, all []series) {
	low, high := math.Inf(1), 0.0
	for _, p := range plans {
		for _, s := range all {
			if v := s.of(p); v > 0 {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	if high == 0 {
		low, high = 1, 10
	}
	bottom, top := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high)+1e-9)
	top = max(top, bottom+1)
	x := func(p *Plan) float64 { return left + (math.Log10(p.Input.DailyUsers)-fewest)/(most-fewest)*panelWidth }
	y := func(v float64) float64 {
		return panelTop + panelHeight*(1-(math.Log10(v)-bottom)/(top-bottom))
	}
	d.text(left, panelTop-6, "start", `font-size="12" font-weight="bold"`, title)
	for e := bottom; e <= top; e++ {
		v := math.Pow(10, e)
		d.line(left, y(v), left+panelWidth, y(v), `stroke="#ddd"`)
		d.text(left-6, y(v)+3, "end", small, number(v)+unit)
	}
	for e := fewest; e <= most; e++ {
		at := left + (e-fewest)/(most-fewest)*panelWidth
		d.line(at, panelTop, at, panelTop+panelHeight, `stroke="#ddd"`)
		d.text(at, panelTop+panelHeight+14, "middle", small, number(math.Pow(10, e)))
	}
	d.text(left+panelWidth/2, panelTop+panelHeight+44, "middle", small, "daily users")
	d.engines(plans, x)
	for i, s := range all {
		var path []string
		for _, p := range plans {
			if v := s.of(p); v > 0 {
				path = append(path, fmt.Sprintf("%.1f,%.1f", x(p), y(v)))
			}
		}
		if len(path) == 0 {
			continue
		}
		fmt.Fprintf(&d.out, "<polyline points=\"%s\" fill=\"none\" stroke=\"%s\" stroke-width=\"2\"/>\n", strings.Join(path, " "), s.colour)
		at := panelTop + 14 + 15*float64(i)
		d.line(left+8, at-4, left+26, at-4, fmt.Sprintf("stroke=\"%s\" stroke-width=\"2\"", s.colour))
		d.text(left+31, at, "start", `font-size="11"`, s.name)
	}
}

// engines marks the numbers of users at which the engine changes.
func (d *drawing) engines(plans []*Plan, x func(*Plan) float64) {
	first := plans[0]
	for i, p := range plans {
		last := i == len(plans)-1
		if p.Engine == first.Engine && !last {
			continue
		}
		d.text((x(first)+x(p))/2, panelTop+panelHeight+29, "middle", `font-size="10" font-style="italic"`, string(first.Engine))
		if !last {
			d.line(x(p), panelTop, x(p), panelTop+panelHeight+32, `stroke="#999" stroke-dasharray="3 3"`)
		}
		first = p
	}
}
