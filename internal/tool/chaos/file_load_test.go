package chaos_test

import (
	"testing"

	"github.com/rialto-im/rialto/internal/tool/chaos"
)

// upload adds an attempt to send a file.
func (p *scenario) upload(id, sum string, how chaos.Type) {
	e := p.begin(chaos.Event{F: chaos.FUpload, User: alice, Text: sum, N: 7})
	e.ID = id
	p.end(e, how)
}

// fetch adds an attempt to read a file.
func (p *scenario) fetch(f, id, sum string, how chaos.Type) {
	e := p.begin(chaos.Event{F: f, User: alice, ID: id, Node: "n2"})
	e.Text = sum
	p.end(e, how)
}

func TestFileViolationsAreFound(t *testing.T) {
	for _, c := range []struct {
		name  string
		state string
		with  func(p *scenario)
	}{
		{"none", chaos.NotChecked, func(*scenario) {}},
		{"all files can be read", chaos.Holds, func(p *scenario) {
			p.upload("1", "aa", chaos.Ok)
			p.upload("2", "bb", chaos.Info)
			p.fetch(chaos.FDownload, "1", "", chaos.Info)
			p.fetch(chaos.FDownload, "1", "aa", chaos.Ok)
			p.fetch(chaos.FFile, "1", "", chaos.Info)
			p.fetch(chaos.FFile, "1", "aa", chaos.Ok)
		}},
		{"a valid file is refused", chaos.Violated, func(p *scenario) { p.upload("1", "aa", chaos.Fail) }},
		{"a completed file is not found", chaos.Violated, func(p *scenario) {
			p.upload("1", "aa", chaos.Ok)
			p.fetch(chaos.FDownload, "1", "", chaos.Fail)
			p.fetch(chaos.FFile, "1", "aa", chaos.Ok)
		}},
		{"other bytes", chaos.Violated, func(p *scenario) {
			p.upload("1", "aa", chaos.Ok)
			p.fetch(chaos.FDownload, "1", "bb", chaos.Ok)
			p.fetch(chaos.FFile, "1", "aa", chaos.Ok)
		}},
		{"a completed file cannot be read at the end", chaos.Violated, func(p *scenario) {
			p.upload("1", "aa", chaos.Ok)
			p.fetch(chaos.FDownload, "1", "aa", chaos.Ok)
		}},
	} {
		p := good()
		c.with(p)
		if v := verdicts(p)["INV15"]; v.State != c.state {
			t.Errorf("%s: got %+v, want another state", c.name, v)
		}
	}
}
