// Package pipeline reads the file that defines what is made from each video: its renditions, images, watermark, and the operator's own stages.
//
// The graph has fixed parts: a file is inspected, its chunks are encoded, and the video is published when all required parts are done. The
// operator's own stages are added to the graph by the names of their inputs. A file is checked as a whole before anything runs, and each error names its line.
//
// The package only reads and checks: it runs nothing. A Pipeline does not change.
package pipeline

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Pipeline is what is made of a video.
type Pipeline struct {
	// Renditions in which the picture is encoded, the smallest first.
	Renditions []Rendition `yaml:"renditions"`
	// OnDemand says which renditions are encoded on demand.
	OnDemand OnDemand `yaml:"on_demand"`
	// Copy means that a picture that can be played is copied in place of its largest rendition.
	Copy bool `yaml:"copy"`
	// Thumbnails is how many there are.
	Thumbnails int `yaml:"thumbnails"`
	// Storyboard means that there is one.
	Storyboard bool `yaml:"storyboard"`
	// Watermark over the picture; nil: none.
	Watermark *Watermark `yaml:"watermark"`
	// Stages of the operator's own, each behind those that it needs.
	Stages []Stage `yaml:"stages"`
}

// Rendition is a size in which the picture is encoded.
type Rendition struct {
	// Height is the pixels of the shorter side.
	Height int `yaml:"height"`
	// MaxBitrate is the largest number of bits per second; 0: by the size.
	MaxBitrate int64 `yaml:"max_bitrate"`
	// CRF is the quality, from 1 (best) to 51; 0: the default.
	CRF int `yaml:"crf"`
	// Preset of x264; empty: the default.
	Preset string `yaml:"preset"`

	line int
}

// OnDemand says which renditions are encoded only when a viewer asks for them, or when there are enough viewers, and for how long they are kept.
type OnDemand struct {
	// Above is the height above which renditions are encoded on demand; 0: none are.
	Above int `yaml:"above"`
	// Viewers of a video cause all of its renditions to be encoded; 0: 20.
	Viewers int `yaml:"viewers"`
	// DropAfter is how long nobody plays a rendition before it is deleted; 0: 720h.
	DropAfter time.Duration `yaml:"drop_after"`

	line int
}

// Watermark is an image over the picture.
type Watermark struct {
	// Image is the path of a PNG file, relative to the folder of the pipeline's file.
	Image string `yaml:"image"`
	// Corner is top-left, top-right, bottom-left or bottom-right.
	Corner string `yaml:"corner"`
	// Opacity is above 0 and at most 1; 0: 1.
	Opacity float64 `yaml:"opacity"`
	// Width is a share of the picture's width; 0: 0.12.
	Width float64 `yaml:"width"`

	// Content of the file, and its size in pixels.
	Content                 []byte `yaml:"-"`
	PixelWidth, PixelHeight int    `yaml:"-"`

	line int
}

// Stage is a command of the operator's own. It is stored with each video that it is run for, as JSON.
type Stage struct {
	Name string `yaml:"name" json:"name"`
	// Command is a program and its arguments.
	Command []string `yaml:"command" json:"command"`
	// Inputs are source, audio, thumbnail, storyboard, renditions such as 720p, and outputs of other stages as STAGE or STAGE/FILE.
	Inputs  []string `yaml:"inputs" json:"inputs"`
	Outputs []Output `yaml:"outputs" json:"outputs"`
	// Timeout of an attempt; 0: 5 minutes.
	Timeout time.Duration `yaml:"timeout" json:"timeout"`
	// Memory is how many bytes each process may map; 0: 1 GiB.
	Memory int64 `yaml:"memory" json:"memory"`
	// Disk is how many bytes all files of the command may have together; 0: 1 GiB.
	Disk int64 `yaml:"disk" json:"disk"`
	// Attempts before it has failed; 0: 3.
	Attempts int `yaml:"attempts" json:"attempts"`
	// Optional: the video is published without it if it fails.
	Optional bool `yaml:"optional" json:"optional,omitempty"`

	line int
}

// Output is a file that a stage makes.
type Output struct {
	File string `yaml:"file" json:"file"`
	// Type is its media type, such as image/jpeg.
	Type string `yaml:"type" json:"type"`
	// MaxBytes that it may have; 0: 16 MiB.
	MaxBytes int64 `yaml:"max_bytes" json:"max_bytes"`

	line int
}

//go:embed builtin.yaml
var builtIn string

// Text returns the text of a pipeline's file; of the built-in one for an empty path.
func Text(path string) (string, error) {
	if path == "" {
		return builtIn, nil
	}
	b, err := os.ReadFile(path)
	return string(b), err
}

// Load reads and checks the file of a pipeline, and the files that it names. An empty path is the built-in one. The error joins one for each fault.
func Load(path string) (*Pipeline, error) {
	p := &Pipeline{}
	if err := p.decode([]byte(builtIn)); err != nil {
		return nil, err
	}
	if path != "" {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("the pipeline of videos cannot be read: %w", err)
		}
		if err := p.decode(b); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	c := &checker{pipeline: p, folder: filepath.Dir(path)}
	c.check()
	for i, fault := range c.faults {
		c.faults[i] = fmt.Errorf("%s: %w", path, fault)
	}
	return p, errors.Join(c.faults...)
}

// decode replaces the sections that a text has.
func (p *Pipeline) decode(text []byte) error {
	file, err := parser.ParseBytes(text, 0)
	if err == nil && len(file.Docs) > 1 {
		return errors.New("there is a second document; put all into one")
	}
	if err == nil && (len(file.Docs) == 0 || isEmpty(file.Docs[0].Body)) {
		return nil
	}
	if err == nil {
		err = yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(p)
	}
	if e := yaml.Error(nil); errors.As(err, &e) {
		return fmt.Errorf("line %d: %s", e.GetToken().Position.Line, e.GetMessage())
	}
	return err
}

// isEmpty reports whether a document has no content but comments.
func isEmpty(body ast.Node) bool {
	switch body.(type) {
	case nil, *ast.NullNode, *ast.CommentGroupNode:
		return true
	}
	return false
}

// UnmarshalYAML notes the line.
func (r *Rendition) UnmarshalYAML(n ast.Node) error {
	type plain Rendition
	r.line = lineOf(n)
	return yaml.NodeToValue(n, (*plain)(r), yaml.Strict())
}

// UnmarshalYAML notes the line.
func (w *Watermark) UnmarshalYAML(n ast.Node) error {
	type plain Watermark
	w.line = lineOf(n)
	return yaml.NodeToValue(n, (*plain)(w), yaml.Strict())
}

// UnmarshalYAML notes the line.
func (s *Stage) UnmarshalYAML(n ast.Node) error {
	type plain Stage
	s.line = lineOf(n)
	return yaml.NodeToValue(n, (*plain)(s), yaml.Strict())
}

// UnmarshalYAML notes the line.
func (d *OnDemand) UnmarshalYAML(n ast.Node) error {
	type plain OnDemand
	d.line = lineOf(n)
	return yaml.NodeToValue(n, (*plain)(d), yaml.Strict())
}

// UnmarshalYAML notes the line.
func (o *Output) UnmarshalYAML(n ast.Node) error {
	type plain Output
	o.line = lineOf(n)
	return yaml.NodeToValue(n, (*plain)(o), yaml.Strict())
}

// lineOf is where a mapping begins: at its first key.
func lineOf(n ast.Node) int {
	switch m := n.(type) {
	case *ast.MappingNode:
		if len(m.Values) > 0 {
			return lineOf(m.Values[0])
		}
	case *ast.MappingValueNode:
		return m.Key.GetToken().Position.Line
	}
	return n.GetToken().Position.Line
}

// Line of the file where the stage is.
func (s *Stage) Line() int { return s.line }

// Stage returns a stage by its name; nil: there is none.
func (p *Pipeline) Stage(name string) *Stage {
	i := slices.IndexFunc(p.Stages, func(s Stage) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return &p.Stages[i]
}

// Inputs that are not outputs of stages, and not renditions.
const (
	Source     = "source"
	Audio      = "audio"
	Thumbnail  = "thumbnail"
	Storyboard = "storyboard"
)

// Height returns the height of an input that is a rendition, such as 720p; 0: it is none.
func Height(input string) int {
	var height int
	if n, err := fmt.Sscanf(input, "%dp", &height); n != 1 || err != nil || input != fmt.Sprintf("%dp", height) {
		return 0
	}
	return height
}

// SplitInput returns the stage of an input, and its file, which is empty for all of them.
func SplitInput(input string) (stage, file string) {
	stage, file, _ = strings.Cut(input, "/")
	return stage, file
}

// IsOfStage reports whether an input is an output of a stage.
func IsOfStage(input string) bool {
	return !slices.Contains([]string{Source, Audio, Thumbnail, Storyboard}, input) && Height(input) == 0
}
