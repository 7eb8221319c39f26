// Package wrap finds what a value can do beyond its interface, through wrappers, and reads bodies that may be nil.
package wrap

import (
	"io"
	"reflect"
)

// Read reads from r. If r is nil, it is empty.
func Read(r io.Reader, p []byte) (int, error) {
	if r == nil {
		return 0, io.EOF
	}
	return r.Read(p)
}

// Close closes c, if it is not nil.
func Close(c io.Closer) error {
	if c == nil {
		return nil
	}
	return c.Close()
}

// As returns s as a T, or the first value that s wraps and that is one. A value wraps another one if it has a method
// Unwrap() S. T is an interface.
//
// The search ends at a struct that has the methods of T, or Unwrap, only because it embeds a type with them: it may
// change what they say without knowing them. Embedded interfaces count as its own methods.
func As[T, S any](s S) (none T, ok bool) {
	for {
		if t, ok := any(s).(T); ok {
			return t, !inherits[T](s)
		}
		w, wraps := any(s).(interface{ Unwrap() S })
		if !wraps || inherits[interface{ Unwrap() S }](s) {
			return none, false
		}
		s = w.Unwrap()
	}
}

// inherits reports whether v is a struct, or a pointer to one, that embeds a type with the methods of T. It cannot tell
// whether v has them, too.
func inherits[T any](v any) bool {
	t, want := reflect.TypeOf(v), reflect.TypeFor[T]()
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return false
	}
	for f := range t.Fields() {
		if f.Anonymous && f.Type.Kind() != reflect.Interface && (f.Type.Implements(want) || reflect.PointerTo(f.Type).Implements(want)) {
			return true
		}
	}
	return false
}
