package fiinfo

import (
	"fmt"
	"reflect"
	"strings"
)

// Field is one attribute of an Info.
type Field struct {
	// Path is its name as in C: "caps", "tx_attr.op_flags".
	Path string
	// Text is its value with the names of bits and values.
	Text string
	// Value is it as the Info has it: Caps, Number, string, …
	Value any
}

// IsZero says that the attribute is left open: 0, or empty.
func (f Field) IsZero() bool {
	v := reflect.ValueOf(f.Value)
	return v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0
}

// Names are those of the bits, or nil if the attribute has no bits.
func (f Field) Names() []string {
	if b, ok := f.Value.(interface{ Names() []string }); ok {
		return b.Names()
	}
	return nil
}

// Fields answers every attribute in the order of the structs, those of the NIC if there
// is one. A nil Info has none.
func (i *Info) Fields() []Field {
	if i == nil {
		return nil
	}
	return fields(nil, "", reflect.ValueOf(*i))
}

func fields(to []Field, path string, v reflect.Value) []Field {
	switch {
	case v.Kind() == reflect.Pointer && v.IsNil():
		return to
	case v.Kind() == reflect.Pointer:
		return fields(to, path, v.Elem())
	case v.Kind() != reflect.Struct:
		return append(to, Field{Path: path, Text: fmt.Sprint(v.Interface()), Value: v.Interface()})
	}
	if path != "" {
		path += "."
	}
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		to = fields(to, path+name, v.Field(i))
	}
	return to
}
