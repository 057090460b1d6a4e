package bench

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	videov1 "github.com/rialto-im/rialto/sdk/go/gen/video/v1"
)

// viewersAtOnce read a video from the edge at the same time.
const viewersAtOnce = 4

// edgeFigures are counters of an edge, of all that it has served.
type edgeFigures struct{ found, missed, served, fetched float64 }

// watch reads all of a video from the edge, once for each viewer, and computes what the edge had.
func (l *videoLoad) watch(ctx context.Context, v *videov1.Video) error {
	master, err := atEdge(l.config.edge, v.Playback.HlsUrl)
	if err != nil {
		return err
	}
	if err := each(ctx, l.config.viewers, viewersAtOnce, func(ctx context.Context, _ int) error { return playAll(ctx, master) }); err != nil {
		return err
	}
	now, err := readEdge(ctx, l.config.edgeMetrics)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	hits, back := ratio(now.found-l.before.found, now.found-l.before.found+now.missed-l.before.missed), ratio(now.fetched-l.before.fetched, now.served-l.before.served)
	l.result.EdgeHitRatio, l.result.BackToOrigin = &hits, &back
	return nil
}

func ratio(of, all float64) float64 {
	if all <= 0 {
		return 0
	}
	return of / all
}

// atEdge is an address of a deployment as the edge has it.
func atEdge(edge, address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	return strings.TrimSuffix(edge, "/") + u.RequestURI(), nil
}

// playAll reads all playlists of a video, and what they name.
func playAll(ctx context.Context, master string) error {
	base := master[:strings.LastIndexByte(master, '/')+1]
	lists, err := named(ctx, master)
	if err != nil {
		return err
	}
	for _, list := range lists {
		files, err := named(ctx, base+list)
		if err != nil {
			return err
		}
		for _, file := range files {
			if _, err := fetch(ctx, base+file); err != nil {
				return err
			}
		}
	}
	return nil
}

// named are the files that a playlist names, in its lines and attributes.
func named(ctx context.Context, playlist string) (files []string, err error) {
	text, err := fetch(ctx, playlist)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if _, attribute, has := strings.Cut(line, `URI="`); has {
			name, _, _ := strings.Cut(attribute, `"`)
			files = append(files, name)
		} else if line != "" && !strings.HasPrefix(line, "#") {
			files = append(files, line)
		}
	}
	return files, nil
}

// readEdge reads the counters of an edge.
func readEdge(ctx context.Context, metrics string) (edgeFigures, error) {
	page, err := fetch(ctx, metrics)
	if err != nil {
		return edgeFigures{}, err
	}
	f, err := edgeFiguresOf(page)
	if err != nil {
		err = fmt.Errorf("the metrics at %s: %w", metrics, err)
	}
	return f, err
}

// edgeFiguresOf reads the counters of a page of metrics.
func edgeFiguresOf(page []byte) (f edgeFigures, err error) {
	wanted := map[string]*float64{`reads_total{result="hit"}`: &f.found, `reads_total{result="joined"}`: &f.found, `reads_total{result="miss"}`: &f.missed, `bytes_total{from="cache"}`: &f.served, `bytes_total{from="origin"}`: &f.fetched}
	seen := 0
	for lines := bufio.NewScanner(bytes.NewReader(page)); lines.Scan(); {
		name, value, _ := strings.Cut(strings.TrimPrefix(lines.Text(), "rialto_file_cache_"), " ")
		if to := wanted[name]; to != nil {
			n, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return f, err
			}
			*to += n
			seen++
		}
	}
	if seen != len(wanted) {
		return f, fmt.Errorf("%d of %d counters of a cache of files are there; name the metrics of an edge", seen, len(wanted))
	}
	return f, nil
}
