// Command fuzz runs the module's fuzz targets and measures how long each has been quiet.
//
//	go run ./.ci/fuzz -time 10s                      every target for ten seconds, as .ci/run does
//	go run ./.ci/fuzz -cpu 10m -quiet 5m             until each has had ten CPU-minutes, the last
//	                                                 five of them without a new statement
//	go run ./.ci/fuzz -quiet 5m -mix 20000 -save '^module/'
//
// Arguments are regular expressions over PACKAGE/TARGET; without one all targets run. Run it in the
// module's root.
//
// A target is quiet while no input of the fuzzer reaches a statement of this module that no earlier
// input has reached. That is coarser than the fuzzer's own "new interesting", which counts how often
// each edge is taken and goes on for hours; it is what a reader of a coverage report sees. It is
// measured after each slice of a minute, so that a slice with a new statement counts for nothing.
//
// Single changed bytes rarely make one known word into another. With -mix the inputs of all targets,
// the strings in the source and the vectors are taken apart into words and put together anew, and
// what reaches a new statement joins the target's inputs before the fuzzer starts.
//
// The inputs by which statements are reached that the seeds do not reach are kept in
// .ci/corpus.tar.gz; -save writes it. An input on which a target fails is written below the
// package's testdata/fuzz, as go test does, and the command exits with 1.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"os/signal"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"
)

// options are the flags.
type options struct {
	time     time.Duration // at least, by the clock
	cpu      time.Duration // at least, of processor time
	quiet    time.Duration // the last part of it without a new statement, of processor time
	mix      int           // mixed inputs tried first
	seed     uint64        // of the mixing
	save     bool
	parallel int
}

// covers reports whether statements have to be counted.
func (o options) covers() bool { return o.quiet > 0 || o.mix > 0 || o.save }

func main() {
	log.SetFlags(log.Ltime)
	var o options
	flag.DurationVar(&o.time, "time", 0, "run each target at least this long")
	flag.DurationVar(&o.cpu, "cpu", 0, "give each target at least this much processor time")
	flag.DurationVar(&o.quiet, "quiet", 0, "go on until this much processor time brought no new statement")
	flag.IntVar(&o.mix, "mix", 0, "try this many inputs mixed from the words of all targets first")
	flag.Uint64Var(&o.seed, "seed", rand.Uint64(), "seed of the mixing")
	flag.BoolVar(&o.save, "save", false, "write the inputs that reach new statements to "+corpusFile)
	flag.IntVar(&o.parallel, "parallel", runtime.NumCPU(), "targets that run beside each other")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o, flag.Args()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, o options, patterns []string) error {
	tmp, err := os.MkdirTemp("", "fuzz")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	corpus, err := readCorpus()
	if err != nil {
		return err
	}
	w, err := newWorkshop(tmp, o.covers())
	if err != nil {
		return err
	}
	targets, err := w.targets(patterns)
	if err != nil {
		return err
	}
	var words *words
	if o.mix > 0 {
		if words, err = gather(corpus); err != nil {
			return err
		}
		log.Printf("mixing %d words and %d texts with -seed %d", len(words.words), len(words.texts), o.seed)
	}

	var (
		mu     sync.Mutex
		failed []string
		wg     sync.WaitGroup
		slots  = make(chan struct{}, max(o.parallel, 1))
	)
	for _, t := range targets {
		t.kept = corpus[t.name()]
		wg.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			err := t.work(ctx, o, words)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed = append(failed, t.name())
				fmt.Printf("%s: %v\n", t.name(), err)
			}
		})
	}
	wg.Wait()

	table(targets, o)
	if o.save {
		if err := save(targets); err != nil {
			return err
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("%d of %d targets failed: %s", len(failed), len(targets), strings.Join(failed, " "))
	}
	return context.Cause(ctx)
}

func table(targets []*target, o options) {
	if !o.covers() {
		fmt.Printf("%d fuzz targets, %v each\n", len(targets), max(o.time, o.cpu))
		return
	}
	fmt.Printf("%-44s %8s %8s %11s %6s %6s\n", "target", "CPU s", "quiet s", "statements", "kept", "found")
	for _, t := range targets {
		fmt.Printf("%-44s %8.0f %8.0f %11d %6d %6d\n",
			t.name(), t.cpu.Seconds(), t.quiet.Seconds(), len(t.known), len(t.kept), len(t.found))
	}
}

// matches reports whether one of the patterns matches; without a pattern, true.
func matches(patterns []*regexp.Regexp, name string) bool {
	for _, p := range patterns {
		if p.MatchString(name) {
			return true
		}
	}
	return len(patterns) == 0
}
