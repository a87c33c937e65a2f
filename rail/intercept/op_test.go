package intercept

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// kinds are the types of operations' functions.
var kinds = []reflect.Type{reflect.TypeFor[SendFunc](), reflect.TypeFor[RecvFunc](), reflect.TypeFor[RMAFunc](), reflect.TypeFor[AtomicFunc]()}

// Each field of Hooks that is an operation's stands in the table once, under its own
// name, so that an operation which is added without its line does not go unseen.
func TestEveryOperationHasAHook(t *testing.T) {
	fields := map[string]bool{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Hooks]()) {
		for _, kind := range kinds {
			if f.Type == kind {
				fields[f.Name] = true
			}
		}
	}
	require.Len(t, fields, NumOps)
	for op := range Op(NumOps) {
		name := fieldOf(t, op)
		require.True(t, fields[name], "%v has the hook of another operation", op)
		delete(fields, name)
		require.Equal(t, strings.ToLower(name), strings.ReplaceAll(op.String(), "_", ""))
	}
	require.Equal(t, "unknown operation", Op(NumOps).String())
}

// fieldOf answers which field of Hooks the table has for an operation.
func fieldOf(t *testing.T, op Op) (name string) {
	h := new(Hooks)
	v := reflect.ValueOf(h).Elem()
	for i := range v.NumField() {
		for _, kind := range kinds {
			if v.Field(i).Type() != kind {
				continue
			}
			v.Field(i).Set(reflect.MakeFunc(kind, func([]reflect.Value) []reflect.Value { panic("not called") }))
			if o := operations[op]; o.send != nil && o.send(h) != nil || o.recv != nil && o.recv(h) != nil || o.rma != nil && o.rma(h) != nil || o.atomic != nil && o.atomic(h) != nil {
				require.Empty(t, name, "%v has several hooks", op)
				name = v.Type().Field(i).Name
			}
			v.Field(i).SetZero()
		}
	}
	require.NotEmpty(t, name, "%v has no hook", op)
	return name
}
