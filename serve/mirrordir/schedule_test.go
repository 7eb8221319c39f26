package mirrordir_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tofureg/tofureg/storage"
)

// The scheduler runs real writers of a mirror. Each call of a store is a choice: who is next, and whether that actor
// dies before it, or gets ErrConflict as the answer to a write that was done, as from a client that repeats requests
// whose answer was lost. A schedule is a list of choices, run from the start each time. All schedules with at most so
// many preemptions are run: choices that leave an actor which could go on.

// disk is what a store contains.
type disk struct {
	digests bool // whether revisions are digests; otherwise they count writes
	locks   bool
	files   map[string]diskFile
	writes  int
	held    map[string]*actor
}

type diskFile struct {
	data     []byte
	revision storage.Revision
}

func (d *disk) clone() *disk {
	return &disk{digests: d.digests, locks: d.locks, files: maps.Clone(d.files), writes: d.writes, held: map[string]*actor{}}
}

func (d *disk) write(name string, data []byte, was storage.Revision) error {
	if d.files[name].revision != was {
		return fmt.Errorf("write %s: %w", name, storage.ErrConflict)
	}
	d.writes++
	revision := storage.Revision(fmt.Sprint("generation ", d.writes))
	if d.digests {
		revision = storage.Revision(fmt.Sprintf("%x", sha256.Sum256(data)))
	}
	d.files[name] = diskFile{data, revision}
	return nil
}

// actor is one writer or reader.
type actor struct {
	name        string
	store       *disk
	do          func(ctx context.Context, s storage.Store) error
	mu          sync.Mutex
	pending     []*diskCall // guarded by mu
	done, dead  bool
	first, last int // steps of its calls, -1 before the first
	err         error
}

// diskCall is a call of a store that waits for its turn.
type diskCall struct {
	text     string
	lock     string // name of the lock that it waits for
	writes   bool
	do       func() error
	err      error
	finished chan struct{}
}

var errKilled = errors.New("the process is dead")

// call waits for a turn.
func (a *actor) call(ctx context.Context, c *diskCall) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	c.finished = make(chan struct{})
	a.mu.Lock()
	if a.dead {
		a.mu.Unlock()
		return errKilled
	}
	a.pending = append(a.pending, c)
	slices.SortStableFunc(a.pending, func(x, y *diskCall) int { return strings.Compare(x.text, y.text) })
	a.mu.Unlock()
	<-c.finished
	return c.err
}

// actorStore is the store of an actor.
type actorStore struct{ a *actor }

func (s actorStore) Open(ctx context.Context, name string) (f *storage.File, err error) {
	err = s.a.call(ctx, &diskCall{text: "open " + name, do: func() error {
		file, ok := s.a.store.files[name]
		if !ok {
			return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
		f = &storage.File{ReadCloser: readAll{bytes.NewReader(file.data)}, Info: storage.Info{Size: int64(len(file.data)), Revision: file.revision}}
		return nil
	}})
	return f, err
}

type readAll struct{ *bytes.Reader }

func (readAll) Close() error { return nil }

func (s actorStore) Stat(ctx context.Context, name string) (info storage.Info, err error) {
	err = s.a.call(ctx, &diskCall{text: "stat " + name, do: func() error {
		file, ok := s.a.store.files[name]
		if !ok {
			return &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
		}
		info = storage.Info{Size: int64(len(file.data)), Revision: file.revision}
		return nil
	}})
	return info, err
}

func (s actorStore) Write(ctx context.Context, name string, content *io.SectionReader, was storage.Revision) error {
	data, err := io.ReadAll(content)
	if err != nil {
		return err
	}
	return s.a.call(ctx, &diskCall{text: "write " + name, writes: true, do: func() error { return s.a.store.write(name, data, was) }})
}

func (s actorStore) List(ctx context.Context, dir string) (entries []storage.Entry, err error) {
	err = s.a.call(ctx, &diskCall{text: "list " + dir, do: func() error {
		below := map[string]storage.Entry{}
		for name, f := range s.a.store.files {
			rest, ok := strings.CutPrefix(name, dir+"/")
			if dir == "." {
				rest, ok = name, true
			}
			if first, _, deeper := strings.Cut(rest, "/"); ok && deeper {
				below[first] = storage.Entry{Name: first, IsDir: true}
			} else if ok {
				below[first] = storage.Entry{Name: first, Size: int64(len(f.data))}
			}
		}
		entries = slices.Collect(maps.Values(below))
		return nil
	}})
	return entries, err
}

func (s actorStore) Delete(ctx context.Context, name string, was storage.Revision) error {
	return s.a.call(ctx, &diskCall{text: "delete " + name, do: func() error {
		if f, ok := s.a.store.files[name]; ok && was != "" && f.revision != was {
			return fmt.Errorf("delete %s: %w", name, storage.ErrConflict)
		}
		delete(s.a.store.files, name)
		return nil
	}})
}

// lockedStore also has locks.
type lockedStore struct{ actorStore }

func (s lockedStore) Lock(ctx context.Context, name string) (func() error, error) {
	err := s.a.call(ctx, &diskCall{text: "lock " + name, lock: name, do: func() error {
		s.a.store.held[name] = s.a
		return nil
	}})
	if err != nil {
		return nil, err
	}
	return func() error {
		if s.a.store.held[name] == s.a {
			delete(s.a.store.held, name)
		}
		return nil
	}, nil
}

// choice is what may happen next.
type choice struct {
	actor *actor
	call  *diskCall
	what  string // run, die or lose
}

func (c choice) String() string { return c.actor.name + " " + c.what + " " + c.call.text }

// limits are how many unusual choices a schedule may have.
type limits struct{ preemptions, deaths, losses int }

func (l limits) less(n limits) limits {
	return limits{l.preemptions - n.preemptions, l.deaths - n.deaths, l.losses - n.losses}
}

func (l limits) ok() bool { return l.preemptions >= 0 && l.deaths >= 0 && l.losses >= 0 }

// point is where a schedule could have gone on in another way.
type point struct {
	costs []limits // of each choice; the first costs nothing
	taken int
}

// execution is one run of actors.
type execution struct {
	actors []*actor
	trace  []string
	after  func() error // checks the state after each call
}

// next returns the first call of an actor that need not wait for a lock.
func (a *actor) next() *diskCall {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, c := range a.pending {
		if c.lock == "" || a.store.held[c.lock] == nil {
			return c
		}
	}
	return nil
}

// finish lets a call return.
func (a *actor) finish(c *diskCall, err error) {
	a.mu.Lock()
	a.pending = slices.DeleteFunc(a.pending, func(other *diskCall) bool { return other == c })
	a.mu.Unlock()
	c.err = err
	close(c.finished)
}

func (a *actor) sleeps() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return !a.done && len(a.pending) == 0
}

// run runs the actors by a schedule, and by the first choice after its end.
func (x *execution) run(schedule []int) (points []point, err error) {
	for _, a := range x.actors {
		a.first, a.last = -1, -1
		go func() {
			err := a.do(context.Background(), a.of())
			a.mu.Lock()
			defer a.mu.Unlock()
			a.err, a.done = err, true
		}()
	}
	var current *actor
	for step := 0; ; step++ {
		synctest.Wait()
		for n := 0; slices.ContainsFunc(x.actors, (*actor).sleeps); n++ {
			if n > 1000 {
				return points, fmt.Errorf("an actor waits for ever")
			}
			time.Sleep(11 * time.Millisecond)
			synctest.Wait()
		}
		choices, costs := x.choices(current)
		if len(choices) == 0 {
			if slices.ContainsFunc(x.actors, func(a *actor) bool { return !a.done }) {
				return points, fmt.Errorf("the actors wait for each other")
			}
			return points, nil
		}
		taken := 0
		if step < len(schedule) {
			taken = schedule[step]
		}
		points = append(points, point{costs, taken})
		if taken >= len(choices) {
			return points, fmt.Errorf("not deterministic: choice %d of %d at step %d", taken, len(choices), step)
		}
		if step > 1000 {
			return points, fmt.Errorf("more than 1000 steps")
		}
		c := choices[taken]
		x.trace = append(x.trace, c.String())
		x.take(c, step)
		current = c.actor
		if err := x.after(); err != nil {
			for _, a := range x.actors {
				x.kill(a)
			}
			synctest.Wait()
			return points, err
		}
	}
}

func (a *actor) of() storage.Store {
	if a.store.locks {
		return lockedStore{actorStore{a}}
	}
	return actorStore{a}
}

// choices returns what may happen next; first what continues.
func (x *execution) choices(current *actor) (choices []choice, costs []limits) {
	order := slices.Clone(x.actors)
	if i := slices.Index(order, current); i > 0 {
		order = slices.Concat([]*actor{current}, order[:i], order[i+1:])
	}
	goesOn := current != nil && current.next() != nil
	for _, a := range order {
		c := a.next()
		if c == nil {
			continue
		}
		cost := limits{}
		if goesOn && a != current {
			cost.preemptions = 1
		}
		choices, costs = append(choices, choice{a, c, "run"}), append(costs, cost)
		cost.deaths = 1
		choices, costs = append(choices, choice{a, c, "die"}), append(costs, cost)
		if cost.deaths = 0; c.writes {
			cost.losses = 1
			choices, costs = append(choices, choice{a, c, "lose"}), append(costs, cost)
		}
	}
	return choices, costs
}

// take lets a choice happen.
func (x *execution) take(c choice, step int) {
	if c.actor.first < 0 {
		c.actor.first = step
	}
	c.actor.last = step
	switch c.what {
	case "run":
		c.actor.finish(c.call, c.call.do())
	case "lose":
		err := c.call.do()
		if err == nil {
			err = fmt.Errorf("%s: %w", c.call.text, storage.ErrConflict)
		}
		c.actor.finish(c.call, err)
	case "die":
		x.kill(c.actor)
	}
}

// kill ends an actor. Its locks become free.
func (x *execution) kill(a *actor) {
	a.mu.Lock()
	a.dead = true
	calls := slices.Clone(a.pending)
	a.mu.Unlock()
	maps.DeleteFunc(a.store.held, func(_ string, holder *actor) bool { return holder == a })
	for _, c := range calls {
		a.finish(c, errKilled)
	}
}

// explore runs all schedules of actors within limits. start returns the actors of a run, and check its checks after each call
// and at the end. It returns the number of schedules, and the first failure with its trace.
func explore(t *testing.T, max limits, start func() (actors []*actor, after, end func() error)) (runs int, failure error) {
	t.Helper()
	schedules := [][]int{nil}
	for len(schedules) > 0 && failure == nil {
		schedule := schedules[len(schedules)-1]
		schedules = schedules[:len(schedules)-1]
		var points []point
		runs++
		synctest.Test(t, func(t *testing.T) {
			actors, after, end := start()
			x := &execution{actors: actors, after: after}
			var err error
			if points, err = x.run(schedule); err == nil {
				err = end()
			}
			if err != nil {
				failure = fmt.Errorf("%w\n\t%s", err, strings.Join(x.trace, "\n\t"))
			}
		})
		left := max
		for i, p := range points {
			if i >= len(schedule) {
				for other := range p.costs {
					if other != p.taken && left.less(p.costs[other]).ok() {
						schedules = append(schedules, append(takenBefore(points, i), other))
					}
				}
			}
			left = left.less(p.costs[p.taken])
		}
	}
	return runs, failure
}

// takenBefore returns the choices before a point.
func takenBefore(points []point, n int) []int {
	list := make([]int, n, n+1)
	for i := range list {
		list[i] = points[i].taken
	}
	return list
}
