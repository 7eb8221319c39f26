// Command fuzz runs the fuzz targets of the module and measures how long each has found
// nothing new.
//
//	go run ./.ci/fuzz -time 10s                      every target for ten seconds, as .ci/run does
//	go run ./.ci/fuzz -cpu 10m -quiet 5m             until each has had ten CPU-minutes, the last
//	                                                 five of them without a new statement
//	go run ./.ci/fuzz -quiet 5m -mix 20000 -save '^module/'
//
// Arguments are regular expressions for PACKAGE/TARGET. Without arguments all targets run. Run
// it in the root of the module.
//
// A target is quiet while no input reaches a statement of this module that no earlier input
// has reached. The fuzzer's own measure, "new interesting", counts how often each edge is
// taken and goes on for hours. Statements are counted after each slice of a minute.
//
// Changing single bytes rarely turns one known word into another. With -mix, the inputs of all
// targets, the strings in the source and the vectors are split into words and combined.
// Combinations that reach a new statement become inputs of the target.
//
// Inputs that reach more statements than the seeds are kept in .ci/corpus.tar.gz; -save writes
// it. An input on which a target fails is written to testdata/fuzz of the package, as go test
// does, and the command exits with 1.
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
	w, err := newWorkspace(tmp, o.covers())
	if err != nil {
		return err
	}
	targets, err := w.targets(patterns)
	if err != nil {
		return err
	}
	var words *words
	if o.mix > 0 {
		if words, err = collectWords(corpus); err != nil {
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
