// Pictures makes the pictures of README.md: docs/way.svg, the way of a package through the library, and
// docs/times.svg, the times of docs/performance.md as bars.
//
//	go run ./.ci/pictures        # from the root of the repository
//	go run ./.ci/pictures DIR    # writes the pictures to DIR
package main

import (
	"fmt"
	"html"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

func main() {
	dir := "docs"
	if len(os.Args) > 1 {
		dir = os.Args[1]
	}
	if err := run(dir); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

func run(dir string) error {
	text, err := os.ReadFile("docs/performance.md")
	if err != nil {
		return err
	}
	jobs, err := parse(string(text))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, "way.svg"), []byte(way()), 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "times.svg"), []byte(times(jobs)), 0o644)
}

// job is a row of the table: the medians of one or two series in seconds.
type job struct {
	name        string
	ours, cli   []float64
	ours0, tofu string // as in the table
}

// parse reads the rows of the table against the CLI that were measured in memory.
func parse(text string) ([]job, error) {
	_, text, _ = strings.Cut(text, "\n## Times\n")
	text, _, _ = strings.Cut(text, "\n## ")
	var jobs []job
	last := ""
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if len(cells) != 6 || !strings.Contains(cells[2], " s") {
			continue
		}
		name, _, _ := strings.Cut(strings.TrimSpace(cells[0]), ", h1") // without a remark
		if rest, ok := strings.CutPrefix(name, "the same"); ok {
			name = last + rest
		} else {
			last = name
		}
		if cells[1] != "memory" {
			continue
		}
		j := job{name: name, ours0: cells[2], tofu: cells[3]}
		var err error
		if j.ours, err = seconds(cells[2]); err != nil {
			return nil, err
		}
		if j.cli, err = seconds(cells[3]); err != nil {
			return nil, err
		}
		jobs = append(jobs, j)
	}
	if len(jobs) < 3 {
		return nil, fmt.Errorf("found %d jobs in docs/performance.md, want at least 3", len(jobs))
	}
	return jobs, nil
}

// seconds parses "10.5 s, 11.7 s".
func seconds(cell string) ([]float64, error) {
	var out []float64
	for part := range strings.SplitSeq(cell, ", ") {
		f, err := strconv.ParseFloat(strings.TrimSuffix(part, " s"), 64)
		if err != nil || f <= 0 {
			return nil, fmt.Errorf("%q is not a time", cell)
		}
		out = append(out, f)
	}
	return out, nil
}

func mean(list []float64) float64 {
	sum := 0.0
	for _, f := range list {
		sum += f
	}
	return sum / float64(len(list))
}

// head begins a picture, with a background of its own, so that it is readable on pages of any colour.
func head(width, height int, title string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %[1]d %[2]d" width="%[1]d" height="%[2]d" role="img" aria-label="%[3]s">
<title>%[3]s</title>
<style>
.back { fill: #fff; stroke: #d1d9e0 } .box { fill: #f6f8fa; stroke: #818b98 } .line { stroke: #59636e; fill: none }
text { font: 12px "Segoe UI", "Noto Sans", "DejaVu Sans", Helvetica, Arial, sans-serif; fill: #1f2328 }
.name { font-weight: bold } .dim { fill: #59636e } .ours { fill: #0969da } .tofu { fill: #afb8c1 } .tip { fill: #59636e }
@media (prefers-color-scheme: dark) {
.back { fill: #0d1117; stroke: #3d444d } .box { fill: #151b23; stroke: #656c76 } .line { stroke: #9198a1 }
text { fill: #f0f6fc } .dim { fill: #9198a1 } .ours { fill: #4493f8 } .tofu { fill: #656c76 } .tip { fill: #9198a1 }
}
</style>
<rect class="back" x="0.5" y="0.5" width="%[4]d" height="%[5]d" rx="6"/>
`, width, height, html.EscapeString(title), width-1, height-1)
}

func label(b *strings.Builder, x, y int, class, text string) {
	fmt.Fprintf(b, "<text class=%q x=\"%d\" y=\"%d\">%s</text>\n", class, x, y, html.EscapeString(text))
}

// times draws two bars for each job. The bar of tofu has the full width, because the jobs differ too much in length.
func times(jobs []job) string {
	const left, full, row = 285, 430, 46
	var b strings.Builder
	b.WriteString(head(880, len(jobs)*row+56, "Time of jobs by the time of tofu 1.12.6"))
	for i, j := range jobs {
		y := 18 + i*row
		label(&b, 16, y+20, "", j.name)
		for k, bar := range []struct {
			class, text string
			width       float64
		}{
			{"ours", "tofureg " + j.ours0, full * mean(j.ours) / mean(j.cli)},
			{"tofu", "tofu " + j.tofu, full},
		} {
			fmt.Fprintf(&b, "<rect class=%q x=\"%d\" y=\"%d\" width=\"%.0f\" height=\"14\" rx=\"2\"/>\n", bar.class, left, y+k*18, bar.width)
			label(&b, left+int(bar.width)+8, y+k*18+11, "", bar.text)
		}
	}
	label(&b, 16, 18+len(jobs)*row+18, "dim", "Each bar by tofu's time. Packages in memory, 2 cores, 50 ms before each answer. Two times are two series. In mirrors tofu computes no h1.")
	b.WriteString("</svg>\n")
	return b.String()
}

// boxes are the packages on the way of a provider package, with what each one adds.
var boxes = []struct {
	name  []string
	lines []string
}{
	{[]string{"addrs"}, []string{"names, versions,", "constraints"}},
	{[]string{"disco"}, []string{"the services", "of the host"}},
	{[]string{"regclient", "mirrorclient"}, []string{"versions, package:", "URL, hashes, keys"}},
	{[]string{"provider"}, []string{"archive, sums,", "signature"}},
	{[]string{"verify"}, []string{"judges by policy", "and lock file"}},
	{[]string{"provider/install", "serve/mirrordir"}, []string{"plugin directory,", "or mirror"}},
}

// way draws the boxes in a row.
func way() string {
	const width, gap, top, wider = 124, 22, 24, 40 // the last name is the longest
	x := func(i int) int { return 14 + i*(width+gap) }
	var b strings.Builder
	b.WriteString(head(x(len(boxes))-gap+14+wider, 190, "The way of a package through tofureg"))
	for i, box := range boxes {
		w := width
		if i == len(boxes)-1 {
			w += wider
		}
		fmt.Fprintf(&b, "<rect class=\"box\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"86\" rx=\"4\"/>\n", x(i), top, w)
		for k, name := range box.name {
			label(&b, x(i)+7, top+20+k*16, "name", name)
		}
		for k, line := range box.lines {
			label(&b, x(i)+7, top+58+k*16, "dim", line)
		}
		if i > 0 {
			fmt.Fprintf(&b, "<path class=\"line\" d=\"M%d %dh%d\"/><path class=\"tip\" d=\"M%d %dl-8 -4v8z\"/>\n", x(i)-gap, top+43, gap-6, x(i), top+43)
		}
	}
	for _, below := range []struct {
		from, to int
		text     string
	}{
		{1, 3, "requests: transport, auth (tokens of the host only)"},
		{4, 4, "without network"},
		{5, 5, "only what is verified"},
	} {
		from, to := x(below.from), x(below.to)+width
		if below.to == len(boxes)-1 {
			to += wider
		}
		fmt.Fprintf(&b, "<path class=\"line\" d=\"M%d %dv6h%dv-6\"/>\n", from, top+96, to-from)
		label(&b, from, top+120, "dim", below.text)
	}
	label(&b, 14, 176, "dim", "provider/lockfile says what verify must accept, and records the hashes of what was accepted. Modules go from regclient to module.")
	b.WriteString("</svg>\n")
	return b.String()
}
