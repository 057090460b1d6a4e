package transcode

import (
	"context"
	"strings"
)

// Pictures of HDR videos have tags that say how bright a value is: PQ, or HLG. Without a conversion, players show them grey and pale. So they are made SDR, in the colours of
// BT.709 that each player expects, before they are encoded. The white of 203 cd/m², which BT.2408 names as that of a page, becomes one that is nearly the brightest, and what is brighter
// is compressed into the rest.

// hdrInput returns the arguments with which zscale reads the picture of a stream; empty: it is no HDR.
func hdrInput(stream *probedStream) string {
	if stream.Transfer != "smpte2084" && stream.Transfer != "arib-std-b67" {
		return ""
	}
	input := "tin=" + stream.Transfer
	if stream.Primaries == "" || stream.Primaries == "unknown" || stream.Primaries == "bt2020" {
		input += ":pin=bt2020"
	}
	if stream.Space == "" || stream.Space == "unknown" || stream.Space == "bt2020nc" {
		input += ":min=bt2020nc"
	}
	return input
}

// colours returns the filters that make a picture SDR, with a comma at their end; empty: it is that.
func (s *Source) colours() string {
	if s.HDR == "" {
		return ""
	}
	return "zscale=" + s.HDR + ":t=linear:npl=203,format=gbrpf32le,zscale=p=bt709,tonemap=mobius:desat=0,zscale=t=bt709:m=bt709:r=tv,format=yuv420p,"
}

// canConvert reports whether ffmpeg has the filters of colours. Without them, the pictures of HDR videos keep their values and tags.
func (t *Transcoder) canConvert(ctx context.Context) (bool, error) {
	filters, err := t.output(ctx, command{program: t.tools.ffmpeg, args: []string{"-hide_banner", "-filters"}, timeout: startTimeout})
	return strings.Contains(string(filters), " zscale ") && strings.Contains(string(filters), " tonemap "), err
}
