/* SPDX-License-Identifier: GPL-2.0-only OR Apache-2.0 */
#ifndef DP_BPF_CHAIN_LAYOUT_H
#define DP_BPF_CHAIN_LAYOUT_H

/*
 * Runtimes that keep a thread's frames in a list or an array, which a variable leads to: where that is
 * and what a frame has. Part of abi.h.
 */

/* Offsets are those of members. `or 0`: one more than the offset; 0: there is none. */
struct dp_chain {
	__u64 variable; /* its address in the file; with a place, a dp_tls.value */
	__u32 place;    /* enum dp_tls_kind */
	__u32 first; /* the innermost frame: in the structure that the variable leads to, or 0: it leads
		      * to the frame itself */
	__u32 stack; /* of an array: in that structure, its start, and its number of words */
	__u32 stack_words;
	__u32 frame_size; /* as far as a frame is read */
	__u32 stride;     /* of an array: from a frame to its caller; 0: it is a list */
	__u32 next;       /* in a frame: its caller, in a list, */
	__u32 code;       /* what identifies its function; 0: it has none that is named, */
	__u32 position;   /* and where it is in that, */
	__u32 flags;      /* and its flags, */
	__u32 flags_far;  /* not 0: the address of its flags */
	__u32 entry;      /* flags of frames that enter an evaluation loop; */
	__u32 skip;       /* any of those that are not sent, of functions in C; */
	__u32 kind;       /* the flags that say what kind a frame is, and the kind of those that */
	__u32 no_kind;    /* are not sent, as they stand for nothing; or 0 */
	__u32 native;     /* first byte of functions that are native code; or 0 */
	__u32 tagged; /* in a function: the address of what has two words that tell it apart from */
	__u32 tags[2]; /* others, or 0: it has them itself; and they */
	/* Functions in C, whose frames have no `code`, but a method; its number is sent: */
	__u32 c_kind;       /* the kind of their frames */
	__u64 c_names;      /* in the file: what has the names by number; 0: they are not sent */
	__u32 c_method;     /* from a frame's flags back to its method. In that: */
	__u32 c_type_mask;  /* what its first word has if it is one, */
	__u32 c_type;       /* by this mask, */
	__u32 c_definition; /* and its definition's address, in which is */
	__u32 c_name;       /* the number */
	__u32 fleeting;     /* in the second half of a function's first word: it may be gone soon */
	/*
	 * Or 0. A function whose first tag, its name, is 0 may be gone soon, too; what stays is a string,
	 * its file, that it has here. Its second tag is the address of its instructions.
	 */
	__u32 file;
	__u32 hash;       /* in a string, before its size and its text; 0 there: not known */
	__u32 n_steps;    /* in a function: the number of its instructions, */
	__u32 first_line; /* and its first line */
	__u32 step_size;  /* of an instruction, and its line */
	__u32 step_line;
	__u32 scope;      /* in a function: its class */
	__u32 class_name; /* in a class */
	__u32 machine; /* in the structure that the variable leads to: where its own stack begins; or 0 */
	__u32 zero;
};

/*
 * Marks in the code of a function that may be gone soon. Its frame has its line in place of the
 * position, and a tag of what is shown of it: at the same address there may be another one already.
 */
/* It has no name: the address is that of its file, and the tag the hash. */
#define DP_CHAIN_FILE 1ULL
/* It has one: the tag is of that hash and those of the texts of its name and its class's. */
#define DP_CHAIN_LINE 2ULL
/* The string does not have its hash: it is that of its text. */
#define DP_CHAIN_TEXT 4ULL
#define DP_CHAIN_MARKS 7ULL

/* As far as a text is read; no more of it is shown. */
#define DP_CHAIN_TEXT_SIZE 255
#define DP_CHAIN_TEXT_WORDS ((DP_CHAIN_TEXT_SIZE + 1) / 8)

#define DP_CHAIN_FACTOR 0x9e3779b97f4a7c15ULL

/* Tells apart functions that follow each other at the same address. */
static inline __u64 chain_tag(__u64 first, __u64 second)
{
	return first + second * DP_CHAIN_FACTOR;
}

/*
 * Makes the hash of a text from its size and each of the words that are read, of which what is behind it has
 * zeros.
 */
static inline __u64 chain_hash(__u64 hash, __u64 word)
{
	hash = (hash ^ word) * DP_CHAIN_FACTOR;
	return hash ^ hash >> 32; /* a product carries upwards only */
}

/* What user space needs besides, to name Ruby's functions. */
struct dp_ruby_names {
	__u32 version; /* major << 8 | minor */
	__u32 body;    /* in an iseq: its body. In that: */
	__u32 size;    /* number of words of its instructions, and they */
	__u32 instructions;
	__u32 path;
	__u32 label;
	__u32 lines; /* what has lines, their number, and which one a position has */
	__u32 n_lines;
	__u32 index;
	__u32 line_size; /* of what has a line, which begins with it */
	__u32 string_size;
	__u32 last_operator; /* numbers of names up to this one are these of their texts; */
	__u32 number_shift;  /* others' are shifted */
	__u32 first_names;   /* number of the texts that there are from the beginning, */
	__u32 texts;         /* and in what has the names, the array of arrays of all */
	__u32 error;         /* in a thread's context: what rb_errinfo() returns */
	__u32 zero;
};

/* And PHP's. */
struct dp_php_names {
	__u32 api; /* ZEND_MODULE_API_NO */
	__u32 function; /* in a function: its name, class, file, first line, instructions and their number */
	__u32 scope;
	__u32 file;
	__u32 first_line;
	__u32 instructions;
	__u32 n_instructions;
	__u32 instruction_size;
	__u32 line;        /* in an instruction */
	__u32 class_name;  /* in a class */
	__u32 string_size; /* in a string: its number of bytes, and they */
	__u32 string_text;
};

#endif
