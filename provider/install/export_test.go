package install

import "github.com/tofureg/tofureg/internal/stamp"

// SetSystem sets what the system says about packages.
func (d *Dir) SetSystem(s stamp.System) { d.known.System = s }
