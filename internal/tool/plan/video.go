package plan

import "math"

// video computes what videos need: encoding, storage, and traffic, with renditions on demand and with edges, by the curve of popularity: the video of rank n is watched
// in proportion to n^-popularity.
func (c *count) video() {
	in := c.in
	if in.Videos == 0 {
		return
	}
	uploads := in.DailyUsers * in.Videos
	videos := uploads * in.Retention
	watches := in.DailyUsers * in.Watches
	popular := atLeast(in.Viewers, watches*in.Retention, videos, in.Popularity)
	c.transcoding(uploads, videos, watches, popular)
	c.storedVideos(videos, popular)
	c.watching(videos, watches)
}

const sectionVideo = "Videos"

func (c *count) transcoding(uploads, videos, watches, popular float64) {
	in, low, high := c.in, c.by["video_cpu_low"], c.by["video_cpu_high"]
	c.line(sectionVideo, "uploads", uploads, "/day", words("%v daily × %v videos of %v minutes", in.DailyUsers, in.Videos, in.VideoMinutes))
	c.line(sectionVideo, "watched by enough", popular*100, "%", words("of %v videos, by at least %v: %v a day are watched, rank n in proportion to n^-%v", videos, in.Viewers, watches, in.Popularity))
	cores := func(cpu float64) float64 { return uploads * in.VideoMinutes * cpu / day * in.Peak }
	all, demand := cores(low+high), cores(low+popular*high)
	c.line(sectionVideo, "encoding, all at once", all, "cores", words("uploads × %v minutes × %v CPU s ÷ 86,400 s × %v at the peak", in.VideoMinutes, low+high, in.Peak))
	c.line(sectionVideo, "encoding, on demand", demand, "cores", words("%v CPU s for all, and %v above 480p for %v of them; saves %v", low, high, percent(popular), percent(1-demand/all)))
	c.line(sectionVideo, "workers for that", math.Ceil(demand/(in.Cores*in.Use)-1e-9), "", words("nodes with the role worker, with %v cores of which %v may be used", in.Cores, percent(in.Use)))
}

func (c *count) storedVideos(videos, popular float64) {
	in := c.in
	const mega = 1e6
	source, low, high := c.by["video_mb_source"]*mega, c.by["video_mb_low"]*mega, c.by["video_mb_high"]*mega
	minutes := videos * in.VideoMinutes
	all, demand := minutes*(source+low+high), minutes*(source+low+popular*high)
	c.line(sectionVideo, "stored, all at once", all, "B", words("%v videos × %v minutes × (%v as uploaded, %v up to 480p, %v above)", videos, in.VideoMinutes, bytesWord(source), bytesWord(low), bytesWord(high)))
	c.line(sectionVideo, "stored, on demand", demand, "B", words("sizes above 480p of %v of them; saves %v", percent(popular), percent(1-demand/all)))
	c.plan.FileBytes += demand
}

// watching computes the traffic. Edges keep the videos that are watched most.
func (c *count) watching(videos, watches float64) {
	in := c.in
	bits := watches / day * in.Peak * in.VideoMinutes * 60 * c.by["video_mbit_watched"] * 1e6
	each := in.VideoMinutes * (c.by["video_mb_low"] + c.by["video_mb_high"]) * 1e6
	kept := min(videos, math.Floor(in.EdgeDisk/each))
	hits := 0.0
	if kept > 0 {
		hits = harmonic(kept, in.Popularity) / harmonic(videos, in.Popularity)
	}
	c.line(sectionVideo, "to viewers", bits, "bit/s", words("%v videos a day × %v minutes × %v Mbit/s, × %v at the peak", watches, in.VideoMinutes, c.by["video_mbit_watched"], in.Peak))
	c.line(sectionVideo, "of that, by edges", bits*hits, "bit/s", words("a disk of %v keeps %v videos, which are %v of what is watched", bytesWord(in.EdgeDisk), kept, percent(hits)))
	c.line(sectionVideo, "edges for that", math.Ceil(bits*hits/(in.Network*in.Use)-1e-9), "", words("nodes with the role edge, with %v Mbit/s of which %v may be used", in.Network/1e6, percent(in.Use)))
	c.plan.OutBits += bits * (1 - hits)
	c.line(sectionVideo, "from the other nodes", bits*(1-hits), "bit/s", "what edges do not keep: the rarely watched videos")
}

// atLeast returns the share of videos that are watched at least so often, of a number of watches of all.
func atLeast(often, watches, videos, s float64) float64 {
	if videos < 1 || watches <= 0 {
		return 0
	}
	rank := math.Pow(watches/(harmonic(videos, s)*often), 1/s)
	return min(1, math.Floor(rank)/videos)
}

// harmonic returns the sum of n^-s for n from 1 to the largest whole number in x. Beyond the first terms it is an integral, with an error far below that of the figures.
func harmonic(x, s float64) (sum float64) {
	const exact = 1000
	n := math.Floor(x)
	for k := 1.0; k <= min(n, exact); k++ {
		sum += math.Pow(k, -s)
	}
	if n <= exact {
		return sum
	}
	from, to := exact+0.5, n+0.5
	if math.Abs(s-1) < 1e-9 {
		return sum + math.Log(to/from)
	}
	return sum + (math.Pow(to, 1-s)-math.Pow(from, 1-s))/(1-s)
}
