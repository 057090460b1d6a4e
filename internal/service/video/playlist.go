package video

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/rialto-im/rialto/internal/platform/subtitle"
)

// Files below the address of a video.
const (
	masterFile         = "master.m3u8"
	dashFile           = "manifest.mpd"
	storyboardFile     = "storyboard.jpg"
	storyboardTextFile = "storyboard.vtt"
)

// master is the HLS master playlist: the renditions that can be played, the smallest first.
func (p *progress) master() (string, error) {
	var b strings.Builder
	b.WriteString("#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-INDEPENDENT-SEGMENTS\n")
	var sound string
	var soundBits int64
	if p.source.Audio != nil {
		list, _, err := p.playable(trackAudio)
		if err != nil {
			return "", err
		}
		info := p.tracks[trackAudio]
		if info == nil || len(list) == 0 {
			return "", errNotYet
		}
		sound, soundBits = info.codecs, peak(list, info.timescale)
		b.WriteString("#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=\"sound\",NAME=\"sound\",DEFAULT=YES,AUTOSELECT=YES,URI=\"" + trackAudio + ".m3u8\"\n")
	}
	p.masterSubtitles(&b)
	n := 0
	for _, r := range p.renditions {
		list, _, err := p.playable(r.Name)
		if err != nil {
			return "", err
		}
		if len(list) == 0 {
			continue
		}
		n++
		info := p.tracks[r.Name]
		codecs, group := info.codecs, ""
		if sound != "" {
			codecs, group = codecs+","+sound, ",AUDIO=\"sound\""
		}
		if len(p.subtitles) > 0 {
			group += ",SUBTITLES=\"subtitles\""
		}
		fmt.Fprintf(&b, "#EXT-X-STREAM-INF:BANDWIDTH=%d,RESOLUTION=%dx%d,FRAME-RATE=%.3f,CODECS=\"%s\"%s\n%s.m3u8\n",
			max(1, peak(list, info.timescale)+soundBits), r.Width, r.Height, float64(p.source.Rate.Num)/float64(p.source.Rate.Den), codecs, group, r.Name)
	}
	if n == 0 {
		return "", errNotYet
	}
	return b.String(), nil
}

// media is the HLS playlist of a track. It only grows, until the end.
func (p *progress) media(track string) (string, error) {
	list, complete, err := p.playable(track)
	if err != nil {
		return "", err
	}
	if len(list) == 0 {
		return "", errNotYet
	}
	scale := p.tracks[track].timescale
	var longest int64
	for _, s := range list {
		longest = max(longest, s.duration)
	}
	target := int64(math.Ceil(float64(longest) / float64(scale)))
	kind := "EVENT"
	if complete {
		kind = "VOD"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:%d\n#EXT-X-MEDIA-SEQUENCE:0\n#EXT-X-PLAYLIST-TYPE:%s\n#EXT-X-INDEPENDENT-SEGMENTS\n#EXT-X-MAP:URI=\"%s/init.mp4\"\n", target, kind, track)
	for n, s := range list {
		fmt.Fprintf(&b, "#EXTINF:%.6f,\n%s/%d.m4s\n", float64(s.duration)/float64(scale), track, n)
	}
	if complete {
		b.WriteString("#EXT-X-ENDLIST\n")
	}
	return b.String(), nil
}

// dash is the DASH manifest of a complete video, of the same segments.
func (p *progress) dash() (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, `<?xml version="1.0" encoding="UTF-8"?>
<MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-live:2011" type="static" mediaPresentationDuration="PT%.3fS" minBufferTime="PT4S">
<Period>
`, p.source.Duration.Seconds())
	set := func(kind string, tracks []string, attributes func(track string) string) error {
		fmt.Fprintf(&b, "<AdaptationSet contentType=\"%s\" mimeType=\"%s/mp4\" segmentAlignment=\"true\" startWithSAP=\"1\">\n", kind, kind)
		for _, track := range tracks {
			list, complete, err := p.playable(track)
			if err != nil {
				return err
			}
			if !complete {
				return errNotYet
			}
			info := p.tracks[track]
			fmt.Fprintf(&b, "<Representation id=\"%s\" bandwidth=\"%d\" codecs=\"%s\"%s>\n<SegmentTemplate timescale=\"%d\" initialization=\"%s/init.mp4\" media=\"%s/$Number$.m4s\" startNumber=\"0\">\n<SegmentTimeline>\n",
				track, max(1, peak(list, info.timescale)), info.codecs, attributes(track), info.timescale, track, track)
			for i := 0; i < len(list); {
				n := i + 1
				for n < len(list) && list[n].duration == list[i].duration {
					n++
				}
				fmt.Fprintf(&b, "<S t=\"%d\" d=\"%d\" r=\"%d\"/>\n", list[i].start, list[i].duration, n-i-1)
				i = n
			}
			b.WriteString("</SegmentTimeline>\n</SegmentTemplate>\n</Representation>\n")
		}
		b.WriteString("</AdaptationSet>\n")
		return nil
	}
	var names []string
	for _, r := range p.renditions {
		if !r.OnDemand || p.onDemand[r.Name].isComplete() {
			names = append(names, r.Name)
		}
	}
	if err := set("video", names, func(track string) string {
		r := p.rendition(track)
		return fmt.Sprintf(" width=\"%d\" height=\"%d\" frameRate=\"%d/%d\"", r.Width, r.Height, p.source.Rate.Num, p.source.Rate.Den)
	}); err != nil {
		return "", err
	}
	if p.source.Audio != nil {
		if err := set("audio", []string{trackAudio}, func(string) string { return "" }); err != nil {
			return "", err
		}
	}
	for _, t := range p.subtitles {
		fmt.Fprintf(&b, "<AdaptationSet contentType=\"text\" mimeType=\"text/vtt\" lang=\"%s\">\n<Representation id=\"%d\" bandwidth=\"256\">\n<BaseURL>%s</BaseURL>\n</Representation>\n</AdaptationSet>\n", t.language, t.id, t.file())
	}
	b.WriteString("</Period>\n</MPD>\n")
	return b.String(), nil
}

// storyboardText is the WebVTT file of the storyboard.
func (p *progress) storyboardText() (string, error) {
	list := p.tasks[trackStoryboard]
	if len(list) == 0 || list[0].stored == 0 {
		return "", errNotYet
	}
	s, err := storyboardOf(list[0])
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("WEBVTT\n")
	for i := range s.Count {
		begin := time.Duration(i) * s.Interval
		fmt.Fprintf(&b, "\n%s --> %s\n%s#xywh=%d,%d,%d,%d\n", subtitle.Time(begin), subtitle.Time(min(begin+s.Interval, max(p.source.Duration, begin+time.Millisecond))), storyboardFile,
			i%s.Columns*s.TileWidth, i/s.Columns*s.TileHeight, s.TileWidth, s.TileHeight)
	}
	return b.String(), nil
}
