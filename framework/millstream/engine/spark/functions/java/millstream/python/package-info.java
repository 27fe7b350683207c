/**
 * What translated Python functions call: Python's numbers, texts and times, and the check of what a
 * function returns. Generated code imports this package.
 */
package millstream.python;
