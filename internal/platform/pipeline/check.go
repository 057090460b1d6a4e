package pipeline

import (
	"bytes"
	"cmp"
	"fmt"
	"image/png"
	"mime"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Limits of a pipeline.
const (
	minHeight, maxHeight   = 16, 2160
	maxRenditions          = 12
	minBitrate, maxBitrate = 50_000, 100_000_000
	worstCRF               = 51
	maxThumbnails          = 20
	maxImage               = 1 << 20 // bytes of a watermark's file
	maxImageSide           = 4096
	maxStages              = 16
	maxOutputs             = 8
	maxArguments           = 64
	maxArgument            = 8 << 10
	maxAttempts            = 10
	// MaxTimeout of a stage.
	MaxTimeout           = 20 * time.Minute
	minMemory, maxMemory = 16 << 20, 64 << 30
	maxDisk              = 32 << 30
	maxOutputBytes       = 1 << 30
	maxViewers           = 10_000
	// minDropAfter is longer than a video and its addresses: nobody plays what is deleted.
	minDropAfter, maxDropAfter = 24 * time.Hour, 10 * 365 * 24 * time.Hour
)

// Defaults of a stage, its outputs, a watermark, and renditions on demand.
const (
	defaultTimeout     = 5 * time.Minute
	defaultMemory      = 1 << 30
	defaultDisk        = 1 << 30
	defaultAttempts    = 3
	defaultOutputBytes = 16 << 20
	defaultWidth       = 0.12
	defaultViewers     = 20
	defaultDropAfter   = 30 * 24 * time.Hour
)

var (
	presets = []string{"", "ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow"}
	corners = []string{"top-left", "top-right", "bottom-left", "bottom-right"}
	// reserved are names of the parts of each pipeline.
	reserved  = []string{Source, Audio, Thumbnail, Storyboard, "thumbnails", "inspect", "poster", "publish"}
	stageName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)
	fileName  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`)
)

// checker collects the faults of a pipeline, and fills in defaults.
type checker struct {
	pipeline *Pipeline
	folder   string // of the file
	faults   []error
}

func (c *checker) fault(line int, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if line > 0 {
		text = fmt.Sprintf("line %d: %s", line, text)
	}
	c.faults = append(c.faults, fmt.Errorf("%s", text))
}

func (c *checker) check() {
	c.checkRenditions()
	c.checkOnDemand(&c.pipeline.OnDemand)
	if n := c.pipeline.Thumbnails; n < 1 || n > maxThumbnails {
		c.fault(0, "thumbnails is %d; set 1 to %d", n, maxThumbnails)
	}
	if c.pipeline.Watermark != nil {
		c.checkWatermark(c.pipeline.Watermark)
	}
	if n := len(c.pipeline.Stages); n > maxStages {
		c.fault(c.pipeline.Stages[maxStages].line, "there are %d stages; a pipeline has at most %d", n, maxStages)
		return
	}
	for i := range c.pipeline.Stages {
		c.checkStage(&c.pipeline.Stages[i], c.pipeline.Stages[:i])
	}
	if len(c.faults) == 0 { // otherwise names may be ambiguous
		c.checkGraph()
	}
}

func (c *checker) checkRenditions() {
	list := c.pipeline.Renditions
	if len(list) == 0 || len(list) > maxRenditions {
		c.fault(0, "there are %d renditions; give 1 to %d, each as \"- height: 720\"", len(list), maxRenditions)
	}
	lines := map[int]int{}
	for _, r := range list {
		if r.Height < minHeight || r.Height > maxHeight {
			c.fault(r.line, "the height of a rendition is %d; set %d to %d pixels of the shorter side", r.Height, minHeight, maxHeight)
		} else if lines[r.Height] != 0 {
			c.fault(r.line, "there is a rendition of the height %d in line %d already; remove one", r.Height, lines[r.Height])
		}
		lines[r.Height] = max(r.line, 1)
		if r.MaxBitrate != 0 && (r.MaxBitrate < minBitrate || r.MaxBitrate > maxBitrate) {
			c.fault(r.line, "max_bitrate is %d; set %d to %d bits per second, or 0 for one by the size", r.MaxBitrate, minBitrate, maxBitrate)
		}
		if r.CRF < 0 || r.CRF > worstCRF {
			c.fault(r.line, "crf is %d; set 1 (best) to %d, or 0 for the default", r.CRF, worstCRF)
		}
		if !slices.Contains(presets, r.Preset) {
			c.fault(r.line, "%q is no preset of x264; set one of %s", r.Preset, strings.Join(presets[1:], ", "))
		}
	}
	slices.SortStableFunc(list, func(a, b Rendition) int { return cmp.Compare(a.Height, b.Height) })
}

// checkOnDemand follows checkRenditions, which sorts them.
func (c *checker) checkOnDemand(d *OnDemand) {
	d.Viewers, d.DropAfter = cmp.Or(d.Viewers, defaultViewers), cmp.Or(d.DropAfter, defaultDropAfter)
	if list := c.pipeline.Renditions; d.Above < 0 || d.Above > 0 && len(list) > 0 && d.Above < list[0].Height {
		c.fault(d.line, "above of on_demand is %d; set the height of the largest rendition that each video gets at once, at least %d, which is the smallest one, or 0 for all", d.Above, list[0].Height)
	}
	if d.Viewers < 1 || d.Viewers > maxViewers {
		c.fault(d.line, "viewers of on_demand is %d; set 1 to %d", d.Viewers, maxViewers)
	}
	if d.DropAfter < minDropAfter || d.DropAfter > maxDropAfter {
		c.fault(d.line, "drop_after of on_demand is %v; set %v to %v", d.DropAfter, minDropAfter, maxDropAfter)
	}
}

// IsOnDemand reports whether renditions of a height are encoded on demand.
func (p *Pipeline) IsOnDemand(height int) bool {
	return p.OnDemand.Above > 0 && height > p.OnDemand.Above
}

func (c *checker) checkWatermark(w *Watermark) {
	w.Opacity, w.Width, w.Corner = cmp.Or(w.Opacity, 1), cmp.Or(w.Width, defaultWidth), cmp.Or(w.Corner, "bottom-right")
	if !slices.Contains(corners, w.Corner) {
		c.fault(w.line, "%q is no corner for the watermark; set one of %s", w.Corner, strings.Join(corners, ", "))
	}
	if !(w.Opacity > 0 && w.Opacity <= 1) {
		c.fault(w.line, "the opacity of the watermark is %v; set a number above 0, up to 1", w.Opacity)
	}
	if !(w.Width >= 0.01 && w.Width <= 0.5) {
		c.fault(w.line, "the width of the watermark is %v; set a share of the picture's width, from 0.01 to 0.5", w.Width)
	}
	if w.Image == "" {
		c.fault(w.line, "the watermark has no image; set image to a PNG file")
		return
	}
	path := w.Image
	if !filepath.IsAbs(path) {
		path = filepath.Join(c.folder, path)
	}
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxImage) {
		c.fault(w.line, "the watermark %s is no file of at most %d bytes; give a smaller image", path, maxImage)
		return
	}
	if err == nil {
		w.Content, err = os.ReadFile(path)
	}
	if err != nil {
		c.fault(w.line, "the watermark cannot be read: %v", err)
		return
	}
	size, err := png.DecodeConfig(bytes.NewReader(w.Content))
	if err != nil {
		c.fault(w.line, "the watermark %s is no PNG image (%v); convert it", path, err)
		return
	}
	if size.Width > maxImageSide || size.Height > maxImageSide {
		c.fault(w.line, "the watermark %s has %d × %d pixels; a side has at most %d", path, size.Width, size.Height, maxImageSide)
	}
	w.PixelWidth, w.PixelHeight = size.Width, size.Height
}

// checkStage checks a stage beside those before it.
func (c *checker) checkStage(s *Stage, before []Stage) {
	switch {
	case !stageName.MatchString(s.Name):
		c.fault(s.line, "the name of a stage is %q; give one of small letters, digits and dashes, at most 40", s.Name)
	case slices.Contains(reserved, s.Name):
		c.fault(s.line, "a stage is called %s, as a part of each pipeline is; give it another name", s.Name)
	}
	for i := range before {
		if before[i].Name == s.Name {
			c.fault(s.line, "there is a stage %s in line %d already; give one of them another name", s.Name, before[i].line)
		}
	}
	if len(s.Command) == 0 || s.Command[0] == "" || len(s.Command) > maxArguments || slices.ContainsFunc(s.Command, func(a string) bool { return len(a) > maxArgument || strings.ContainsRune(a, 0) }) {
		c.fault(s.line, "the stage %s has no valid command; give a program and its arguments as a list of 1 to %d texts of at most %d bytes", s.Name, maxArguments, maxArgument)
	}
	if len(s.Inputs) == 0 {
		c.fault(s.line, "the stage %s has no inputs; name at least one, such as source", s.Name)
	}
	s.Timeout, s.Memory, s.Disk, s.Attempts = cmp.Or(s.Timeout, defaultTimeout), cmp.Or(s.Memory, defaultMemory), cmp.Or(s.Disk, defaultDisk), cmp.Or(s.Attempts, defaultAttempts)
	if s.Timeout < time.Second || s.Timeout > MaxTimeout {
		c.fault(s.line, "the timeout of the stage %s is %v; set 1s to %v", s.Name, s.Timeout, MaxTimeout)
	}
	if s.Memory < minMemory || s.Memory > maxMemory {
		c.fault(s.line, "the memory of the stage %s is %d; set %d to %d bytes", s.Name, s.Memory, int64(minMemory), int64(maxMemory))
	}
	if s.Disk < 1 || s.Disk > maxDisk {
		c.fault(s.line, "the disk of the stage %s is %d; set 1 to %d bytes", s.Name, s.Disk, int64(maxDisk))
	}
	if s.Attempts < 1 || s.Attempts > maxAttempts {
		c.fault(s.line, "the stage %s has %d attempts; set 1 to %d", s.Name, s.Attempts, maxAttempts)
	}
	c.checkOutputs(s)
}

func (c *checker) checkOutputs(s *Stage) {
	if len(s.Outputs) == 0 || len(s.Outputs) > maxOutputs {
		c.fault(s.line, "the stage %s has %d outputs; name 1 to %d files that it writes", s.Name, len(s.Outputs), maxOutputs)
	}
	seen := map[string]bool{}
	for i := range s.Outputs {
		o := &s.Outputs[i]
		o.MaxBytes = cmp.Or(o.MaxBytes, defaultOutputBytes)
		if !fileName.MatchString(o.File) {
			c.fault(o.line, "an output of the stage %s is called %q; give a name of letters, digits, dots, dashes and underscores, at most 100, without a folder", s.Name, o.File)
		} else if seen[o.File] {
			c.fault(o.line, "the stage %s has two outputs %s; remove one", s.Name, o.File)
		}
		seen[o.File] = true
		if kind, _, err := mime.ParseMediaType(o.Type); err != nil || !strings.Contains(kind, "/") {
			c.fault(o.line, "the type of the output %s is %q; set a media type, such as image/jpeg", o.File, o.Type)
		}
		if o.MaxBytes < 1 || o.MaxBytes > maxOutputBytes {
			c.fault(o.line, "max_bytes of the output %s is %d; set 1 to %d", o.File, o.MaxBytes, maxOutputBytes)
		}
	}
}

// checkGraph checks that each input exists, and orders the stages: each behind those that it needs.
func (c *checker) checkGraph() {
	for i := range c.pipeline.Stages {
		s := &c.pipeline.Stages[i]
		for k, input := range s.Inputs {
			if slices.Contains(s.Inputs[:k], input) {
				c.fault(s.line, "the stage %s names the input %s twice; remove one", s.Name, input)
			}
			c.checkInput(s, input)
		}
	}
	if len(c.faults) > 0 {
		return
	}
	var ordered []Stage
	state := map[string]int{} // 1: on the path, 2: done
	var visit func(s *Stage, path []string)
	visit = func(s *Stage, path []string) {
		path = append(path, s.Name)
		if state[s.Name] == 1 {
			c.fault(s.line, "the stages %s need each other; remove one of these inputs", strings.Join(path[slices.Index(path, s.Name):], " → "))
		}
		if state[s.Name] != 0 {
			return
		}
		state[s.Name] = 1
		for _, input := range s.Inputs {
			if name, _ := SplitInput(input); IsOfStage(input) {
				visit(c.pipeline.Stage(name), slices.Clone(path))
			}
		}
		state[s.Name] = 2
		ordered = append(ordered, *s)
	}
	for i := range c.pipeline.Stages {
		visit(&c.pipeline.Stages[i], nil)
	}
	c.pipeline.Stages = ordered
}

func (c *checker) checkInput(s *Stage, input string) {
	if height := Height(input); height > 0 {
		if !slices.ContainsFunc(c.pipeline.Renditions, func(r Rendition) bool { return r.Height == height }) {
			c.fault(s.line, "the stage %s needs %s, but there is no rendition of that height; name one of those in renditions", s.Name, input)
		} else if c.pipeline.IsOnDemand(height) {
			c.fault(s.line, "the stage %s needs %s, which is encoded on demand; name a rendition of at most %dp, or raise above of on_demand", s.Name, input, c.pipeline.OnDemand.Above)
		}
		return
	}
	if input == Storyboard && !c.pipeline.Storyboard {
		c.fault(s.line, "the stage %s needs the storyboard, but storyboard is false; set it to true", s.Name)
	}
	if !IsOfStage(input) {
		return
	}
	name, file := SplitInput(input)
	from := c.pipeline.Stage(name)
	switch {
	case from == nil:
		c.fault(s.line, "the stage %s needs %q, which does not exist; inputs are source, audio, thumbnail, storyboard, a rendition such as 720p, and other stages as STAGE or STAGE/FILE", s.Name, input)
	case file != "" && !slices.ContainsFunc(from.Outputs, func(o Output) bool { return o.File == file }):
		c.fault(s.line, "the stage %s needs %q, but the stage %s has no such output", s.Name, input, name)
	case from.Optional && !s.Optional:
		c.fault(s.line, "the stage %s needs the stage %s, which is optional; make it optional as well", s.Name, name)
	}
}
